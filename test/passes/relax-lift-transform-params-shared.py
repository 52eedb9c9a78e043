# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='function=prefill,decode inputs=1' --split-input-file --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-lift-transform-params='function=prefill,decode inputs=1' --relax-lift-transform-params='function=prefill,decode inputs=1' --split-input-file --print-script | FileCheck %s
"""Transformation of the weights of several functions in one function, with the same order for all.

Situations of Apache TVM's test_transform_lift_transform_params.py (shared transforms, one that is there already).
"""


# A transformation of a weight in both functions is done once, in any order. If the other function uses the weight
# unchanged, the transformation stays, with its users. If the other function does not use the weight, the transformation
# is lifted. Names are local to each function.
# CHECK-LABEL: def transform_params(
# CHECK-NEXT: a: R.Tensor((4, 8), "float32"),
# CHECK-NEXT: b: R.Tensor((4, 4), "float32"),
# CHECK-NEXT: c: R.Tensor((4,), "float32"),
# CHECK: e: {{.*}} = R.exp(c)
# CHECK-NEXT: at: {{.*}} = R.permute_dims(a)
# CHECK-NEXT: return e, at, b
# CHECK-LABEL: def prefill(
# CHECK-NEXT: x: R.Tensor(("n", 4), "float32"),
# CHECK-NEXT: e: R.Tensor((4,), "float32"),
# CHECK-NEXT: at: R.Tensor((8, 4), "float32"),
# CHECK-NEXT: b: R.Tensor((4, 4), "float32"),
# CHECK-NEXT: ) ->
# CHECK-NEXT: bt: {{.*}} = R.permute_dims(b)
# CHECK: negative_0: {{.*}} = R.negative(at)
def prefill(x: f32[n, 4], a: f32[4, 8], b: f32[4, 4], c: f32[4]) -> R.Tuple(f32[n, 4], f32[8, 4]):
    bt = R.permute_dims(b)
    e = R.exp(c)
    at = R.permute_dims(a)
    y = R.add(R.matmul(x, bt), e)
    return y, R.negative(at)


# CHECK-LABEL: def decode(
# CHECK-NEXT: c: R.Tensor((1, 4), "float32"),
# CHECK-NEXT: e: R.Tensor((4,), "float32"),
# CHECK-NEXT: at: R.Tensor((8, 4), "float32"),
# CHECK-NEXT: second: R.Tensor((4, 4), "float32"),
# CHECK-NEXT: ) ->
# CHECK-NEXT: y: {{.*}} = R.matmul(c, second)
# CHECK-NEXT: return y, at
def decode(c: f32[1, 4], first: f32[4, 8], second: f32[4, 4], third: f32[4]) -> R.Tuple(f32[1, 4], f32[8, 4]):
    turned = R.permute_dims(first)
    y = R.matmul(c, second)
    return y, turned


# -----


# An existing function does its part first, with its old parameters.
# CHECK-LABEL: def transform_params(
# CHECK-SAME: packed: R.Tensor((8,), "float32")) -> R.Tensor((2, 4), "float32"):
# CHECK-NEXT: w: {{.*}} = R.reshape(packed, (4, 2))
# CHECK-NEXT: wt: {{.*}} = R.permute_dims(w)
# CHECK-NEXT: return wt
def transform_params(packed: f32[8]) -> f32[4, 2]:
    w = R.reshape(packed, (4, 2))
    return w


# CHECK-LABEL: def prefill(
# CHECK-NEXT: x: R.Tensor({{.*}}, 2), "float32"),
# CHECK-NEXT: wt: R.Tensor((2, 4), "float32"),
def prefill(x: f32[n, 2], w: f32[4, 2]) -> f32[n, 4]:
    wt = R.permute_dims(w)
    return R.matmul(x, wt)


# CHECK-LABEL: def decode(
# CHECK-NEXT: x: R.Tensor({{.*}}, 2), "float32"),
# CHECK-NEXT: wt: R.Tensor((2, 4), "float32"),
def decode(x: f32[1, 2], w: f32[4, 2]) -> f32[1, 4]:
    wt = R.permute_dims(w)
    return R.matmul(x, wt)
