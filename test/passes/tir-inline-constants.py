# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops,tir-fuse,tir-inline-constants)' --print-script | FileCheck %s
"""A number that all calls of a PrimFunc pass moves into its body. With several numbers it stays a parameter."""


# CHECK-LABEL: def same(
# CHECK: R.call_tir(cls.fused_multiply_exp, (x,),
# CHECK-NEXT: R.call_tir(cls.fused_multiply_exp, (y,),
def same(x: f32[4], y: f32[4]) -> R.Tuple(f32[4], f32[4]):
    return R.exp(R.multiply(x, R.const(1.5, "float32"))), R.exp(R.multiply(y, R.const(1.5, "float32")))


# CHECK-LABEL: def several(
# CHECK: R.call_tir(cls.add, (x, {{.*}}),
# CHECK: R.call_tir(cls.add, (y, {{.*}}),
def several(x: f32[4], y: f32[4]) -> R.Tuple(f32[4], f32[4]):
    return R.add(x, R.const(1.0, "float32")), R.add(y, R.const(2.0, "float32"))


# One number fills a tensor.
# CHECK-LABEL: def filled(
# CHECK-NEXT: R.call_tir(cls.maximum, (x,),
def filled(x: f32[n, 4]) -> f32[n, 4]:
    return R.maximum(x, R.const([2.0, 2.0, 2.0, 2.0], "float32"))


# CHECK: def add(
# CHECK: B: T.Tensor((), "float32")
# CHECK: def maximum(
# CHECK-NEXT: A: T.Tensor(("?", 4), "float32"),
# CHECK-NEXT: B: T.Tensor(("?", 4), "float32"),
# CHECK-NEXT: ) ->
# CHECK: arith.maximumf(A[i, j], 2.0)
# CHECK: def fused_multiply_exp(
# CHECK: T.exp(A[i] * {{.*}}1.5
