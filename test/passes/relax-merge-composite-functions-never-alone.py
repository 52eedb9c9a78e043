# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Functions with relax.never_alone become parts only together with others; single ones are inlined again.
# RUN: relax-opt %s --relax-merge-composite-functions --print-script | FileCheck %s
from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    @R.function(private=True, attrs={"relax.composite": "npu.view", "relax.never_alone": I.attr("unit")})
    def view(x: R.Tensor((2, "n"), "float32")) -> R.Tensor(("n", 2), "float32"):
        y = R.permute_dims(x)
        return y

    @R.function(private=True, attrs={"relax.composite": "npu.view", "relax.never_alone": I.attr("unit")})
    def lonely(x: R.Tensor((2, "n"), "float32")) -> R.Tensor(("n", 2), "float32"):
        y = R.permute_dims(x)
        return y

    @R.function(private=True, attrs={"relax.composite": "npu.view", "relax.never_alone": I.attr("unit")})
    def lonely_too(x: R.Tensor(("n", 2), "float32")) -> R.Tensor((2, "n"), "float32"):
        y = R.permute_dims(x)
        return y

    @R.function(private=True, attrs={"relax.composite": "npu.exp"})
    def exp(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
        y = R.exp(x)
        return y

    # CHECK: @R.function(private=True, attrs={"relax.composite": "npu.view"})
    # CHECK-NEXT: def view(
    # CHECK-NOT: def lonely
    # CHECK: attrs={"relax.codegen": "npu"}
    # CHECK: cls.view(
    # CHECK: cls.exp(
    # CHECK: def main(
    # CHECK-NEXT: R.permute_dims(x)
    # CHECK-NEXT: R.permute_dims(
    # CHECK-NEXT: R.tanh(
    # CHECK-NEXT: cls.view_npu(
    # CHECK-NOT: relax.never_alone
    @R.function
    def main(x: R.Tensor((2, "n"), "float32")) -> R.Tensor(("n", 2), "float32"):
        a = cls.lonely(x)
        b = cls.lonely_too(a)
        c = R.tanh(b)
        d = cls.view(c)
        e = cls.exp(d)
        return e
