# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-reorder-matmul --print-script | FileCheck %s
"""Counterpart in Apache TVM: test_transform_adjust_matmul_order.py."""


# Weights of rank 2 (LoRA): whatever n is, their product would cost more.
# CHECK-LABEL: def low_rank(
# CHECK: y: R.Tensor(("n", 2), "float32") = R.matmul(x, a)
# CHECK-NEXT: y_1: R.Tensor(("n", 64), "float32") = R.matmul(y, b)
# CHECK-NEXT: return y_1
def low_rank(x: f32[n, 64], a: f32[64, 2], b: f32[2, 64]) -> f32[n, 64]:
    w = R.matmul(a, b)
    y = R.matmul(x, w)
    return y


# So from the other side, with batches.
# CHECK-LABEL: def columns(
# CHECK: y: R.Tensor((3, 2, "n"), "float32") = R.matmul(b, x)
# CHECK-NEXT: y_1: R.Tensor((3, 64, "n"), "float32") = R.matmul(a, y)
# CHECK-NEXT: return y_1
def columns(x: f32[3, 64, n], a: f32[64, 2], b: f32[2, 64]) -> f32[3, 64, n]:
    y = R.matmul(R.matmul(a, b), x)
    return y


# A chain of four factors, cheapest from the vector on.
# CHECK-LABEL: def chain(
# CHECK: y: {{.*}} = R.matmul(c, v)
# CHECK-NEXT: y_1: {{.*}} = R.matmul(b, y)
# CHECK-NEXT: y_2: {{.*}} = R.matmul(a, y_1)
# CHECK-NEXT: return y_2
def chain(a: f32[8, 8], b: f32[8, 8], c: f32[8, 8], v: f32[8]) -> f32[8]:
    y = R.matmul(R.matmul(R.matmul(a, b), c), v)
    return y


# It depends on n, or costs the same, or the inner product is wanted anyway.
# CHECK-LABEL: def stays(
# CHECK: d: {{.*}} = R.matmul(x, a)
# CHECK-NEXT: e: {{.*}} = R.matmul(d, b)
# CHECK-NEXT: f: {{.*}} = R.matmul(s, s)
# CHECK-NEXT: g: {{.*}} = R.matmul(f, s)
# CHECK-NEXT: h: {{.*}} = R.matmul(b, c)
# CHECK-NEXT: i: {{.*}} = R.matmul(h, z)
# CHECK-NEXT: return e, g, h, i
def stays(x: f32[n, 3], a: f32[3, k], b: f32[k, 7], s: f32[8, 8], c: f32[7, 5], z: f32[5, 5]) -> R.Tuple(
    f32[n, 7], f32[8, 8], f32[k, 5], f32[k, 5]
):
    d = R.matmul(x, a)
    e = R.matmul(d, b)
    f = R.matmul(s, s)
    g = R.matmul(f, s)
    h = R.matmul(b, c)
    i = R.matmul(h, z)
    return e, g, h, i


# A vector next to batches would be taken for a matrix. An intermediate rounding stays.
# CHECK-LABEL: def others(
# CHECK: matmul_0: {{.*}} = R.matmul(v, b)
# CHECK-NEXT: p: {{.*}} = R.matmul(matmul_0, c)
# CHECK-NEXT: R.matmul(a, a, out_dtype="float64")
def others(v: f32[2], b: f32[2, 2, 64], c: f32[64, 2], a: f32[64, 64], w: f64[64, 1]) -> R.Tuple(f32[2, 2], f64[64, 1]):
    p = R.matmul(R.matmul(v, b), c)
    q = R.matmul(R.matmul(a, a, out_dtype="float64"), w)
    return p, q
