# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-convert-layout='desired=relax.nn.conv2d:NHWC:OHWI' --print-script | FileCheck %s
"""Neighbours of converted convolutions, case by case; results: test/python/passes/test_convert_layout*.py.

Situations of Apache TVM's test_transform_convert_layout.py.
"""


# One conversion in front, one behind the last convolution and none between, whatever n is. A kernel that both read
# is converted once.
# CHECK-LABEL: def around(
# CHECK: a_1: {{.*}} = R.permute_dims(a, axes=(0, 2, 3, 1))
# CHECK: w_1: {{.*}} = R.permute_dims(w, axes=(0, 2, 3, 1))
# CHECK: s_1: {{.*}} = R.reshape(s, (1, 1, 1, 4))
# CHECK: multiply_0: R.Tensor(("n", 6, 6, 4), "float32") = R.multiply(b, s_1)
# CHECK: d: R.Tensor(("n", 4, 4, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: tanh_0, w_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK: d_1: {{.*}} = R.permute_dims(d, axes=(0, 3, 1, 2))
# CHECK-NEXT: return d_1
def around(x: f32[n, 4, 8, 8], w: f32[4, 4, 3, 3], s: f32[4, 1, 1]) -> f32[n, 4, 4, 4]:
    a = R.nn.relu(x)
    b = R.nn.conv2d(a, w)
    c = R.add(R.multiply(b, s), b)
    d = R.nn.conv2d(R.tanh(c), w)
    return d


# Beside a bias of which not even the rank is known, in the order of the letters; one conversion for both readers.
# CHECK-LABEL: def unknown(
# CHECK: y_1: {{.*}} = R.permute_dims(y, axes=(0, 3, 1, 2))
# CHECK-NEXT: z: R.Tensor("float32") = R.add(y_1, bias)
# CHECK-NEXT: known = R.match_cast(cast,
# CHECK-NEXT: v: {{.*}} = R.add(y_1, known)
def unknown(
    x: f32[2, 4, 8, 8], w: f32[4, 4, 3, 3], bias: R.Tensor("float32"), cast: f32["?", "?", "?", "?"]
) -> R.Tuple(R.Tensor("float32"), f32[2, 4, 6, 6]):
    y = R.nn.conv2d(x, w)
    z = R.add(y, bias)
    known = R.match_cast(cast, out_sinfo=f32[1, 4, 1, 1])
    v = R.add(y, known)
    return z, v


# Indices refer to the original order, so the indexed tensor is converted back once.
# CHECK-LABEL: def indexed(
# CHECK: y_1: {{.*}} = R.permute_dims(y, axes=(0, 3, 1, 2))
# CHECK-NEXT: a: {{.*}} = R.scatter_elements(y_1, i, u, axis=1)
# CHECK-NEXT: b: {{.*}} = R.gather_elements(y_1, i, axis=-1)
# CHECK-NEXT: c: {{.*}} = R.scatter_nd(y_1, at, values)
def indexed(
    x: f32[2, 4, 8, 8], w: f32[4, 4, 3, 3], i: i64[2, 4, 6, 6], u: f32[2, 4, 6, 6], at: i64[3, 4], values: f32[3]
) -> R.Tuple(f32[2, 4, 6, 6], f32[2, 4, 6, 6], f32[2, 4, 6, 6]):
    y = R.nn.conv2d(x, w)
    a = R.scatter_elements(y, i, u, axis=1)
    b = R.gather_elements(y, i, axis=-1)
    c = R.scatter_nd(y, at, values)
    return a, b, c


# Dynamic bounds are in the order of the axes. Where that needs a conversion, the rest uses it.
# CHECK-LABEL: def sliced(
# CHECK: y_1: {{.*}} = R.permute_dims(y, axes=(0, 3, 1, 2))
# CHECK-NEXT: a: {{.*}} = R.strided_slice(
# CHECK-NEXT: y_1, axes=(1, 3), begin=(1, 0), end=(3, 6), strides=(1, 2),
# CHECK: d: {{.*}} = R.dynamic_strided_slice(y_1, b, e, s)
def sliced(x: f32[2, 4, 8, 8], w: f32[4, 4, 3, 3], b: i64[4], e: i64[4], s: i64[4]) -> R.Tuple(
    f32[2, 2, 6, 3], f32["?", "?", "?", "?"]
):
    y = R.nn.conv2d(x, w)
    a = R.strided_slice(y, axes=[1, 3], begin=[1, 0], end=[3, 6], strides=[1, 2])
    d = R.dynamic_strided_slice(y, b, e, s)
    return a, d


# Along an axis each goes along; flattened elements and new axes in front are in the order that they had.
# CHECK-LABEL: def repeated(
# CHECK: R.repeat(y, repeats=2, axis=3)
# CHECK: R.flip(y, axis=3)
# CHECK: y_1: {{.*}} = R.permute_dims(y, axes=(0, 3, 1, 2))
# CHECK-NEXT: repeat_1: R.Tensor((576,), "float32") = R.repeat(y_1, repeats=2)
# CHECK: R.tile(y, repeats=(1, 1, 2, 1))
# CHECK: R.tile(y_1, repeats=(2, 1, 1, 1, 2))
# CHECK: R.squeeze(strided_slice_0, axis=(1,))
def repeated(x: f32[2, 4, 8, 8], w: f32[4, 4, 3, 3]) -> R.Tuple(f32[4], f32[4], f32, f32[4], f32[4], f32[4]):
    y = R.nn.conv2d(x, w)
    a = R.sum(R.repeat(y, 2, axis=1), axis=[0, 2, 3])
    b = R.sum(R.flip(y, axis=1), axis=[0, 2, 3])
    c = R.sum(R.repeat(y, 2))
    d = R.sum(R.tile(y, (1, 2)), axis=[0, 2, 3])
    e = R.sum(R.tile(y, (2, 1, 1, 1, 2)), axis=[0, 1, 3, 4])
    f = R.sum(R.squeeze(R.strided_slice(y, axes=[2], begin=[0], end=[1]), axis=[2]), axis=[0, 2])
    return R.strided_slice(a, axes=[0], begin=[0], end=[4]), b, c, d, e, f
