# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='relax-lower{stop=fuse opt-level=0}' --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='relax-lower{stop=fuse opt-level=2}' --print-script | FileCheck %s
"""Unused functions and operations make no code at any level. Public functions stay."""

from relax_mlir.script import ir as I, relax as R, tir as T

# CHECK-NOT: exp
# CHECK: def main(
# CHECK-NEXT: R.call_tir(cls.fused_sin_negative, (x,),
# CHECK-NOT: exp
# CHECK: @T.prim_func
# CHECK-NEXT: def by_hand(
# CHECK-NOT: exp
# CHECK-NOT: def sin(
# CHECK: def fused_sin_negative(
# CHECK-NOT: exp


@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        dead = R.abs(R.exp(x))
        return R.negative(R.sin(x))

    @R.function(private=True)
    def unused(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.exp(x)

    @T.prim_func
    def by_hand(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        return X
