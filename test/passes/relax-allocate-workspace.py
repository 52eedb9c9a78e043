# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A function of a codegen that needs memory while it runs gets it as a result that nothing reads.
# RUN: relax-opt %s --relax-allocate-workspace --print-script | FileCheck %s
"""Situations of Apache TVM's test_transform_allocate_workspace.py."""

from relax_mlir.script import ir as I, relax as R


@I.ir_module(ssa=True)
class Module:
    @I.ir_module(attrs={"relax.codegen": "npu"})
    class p:
        # CHECK: def f(
        # CHECK-SAME: -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((96,), "uint8")):
        # CHECK: R.zeros((96,), dtype="uint8")
        @R.function(attrs={"relax.workspace": 96})
        def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.exp(x)
            return y

        # CHECK: def g(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function(attrs={"relax.workspace": 0})
        def g(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.abs(x)
            return y

    # CHECK: def main(
    # CHECK: f_0, f_1 = R.call_external(
    # CHECK: R.Tensor((96,), "uint8")
    # CHECK: b = R.call_external(
    # CHECK-NEXT: out_sinfo=R.Tensor((4,), "float32")
    # CHECK: return b
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.call_external(args=(x,), attrs={"func": I.attr("@p::@f")}, out_sinfo=R.Tensor((4,), "float32"))
        b = R.call_external(args=(a,), attrs={"func": I.attr("@p::@g")}, out_sinfo=R.Tensor((4,), "float32"))
        return b
