# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,canonicalize,cse,symbol-dce)' --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{beside=false},tir-fuse,canonicalize,cse,symbol-dce)' --print-script | FileCheck %s --check-prefix=FUSED
"""PrimFuncs of the compiler are private: unused ones are removed, but a handwritten one stays."""

from relax_mlir.script import ir as I, relax as R, tir as T

# CHECK-NOT: def exp(
# CHECK: def by_hand(
# CHECK-NOT: def exp(
# CHECK: @T.prim_func(private=True,
# CHECK-NEXT: def sin(
# CHECK: @T.prim_func(private=True,
# CHECK-NEXT: def negative(
# CHECK-NOT: def exp(
# FUSED-NOT: def fused_exp_abs
# FUSED: @T.prim_func(private=True,
# FUSED-NEXT: def fused_sin_negative(
# FUSED-NOT: def fused_exp_abs


@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        dead = R.abs(R.exp(x))
        return R.negative(R.sin(x))

    @T.prim_func
    def by_hand(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        return X
