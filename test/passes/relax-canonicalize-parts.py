# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-canonicalize --print-script | FileCheck %s
"""Slices of joined tensors, transposes and quantized numbers, in the form of exporters.

Results are compared in test/python/passes/test_canonicalize_parts.py.
"""


# Parts within one tensor are slices of it, and whole tensors are used directly. If n is 0, y's bounds cross.
# CHECK-LABEL: def of_joined(
# CHECK: joined: {{.*}} = R.concat((a, b, c))
# CHECK-NEXT: y: {{.*}} = R.strided_slice(joined, axes=(0,), begin=(5,), end=("n + 4",))
# CHECK-NEXT: z: {{.*}} = R.strided_slice(c, axes=(0,), begin=(0,), end=(1,))
# CHECK-NEXT: return b, y, z
def of_joined(a: f32[4], b: f32[n], c: f32[3]) -> R.Tuple(f32[n], f32[n - 1], f32[1]):
    joined = R.concat((a, b, c))
    x = R.strided_slice(joined, axes=(0,), begin=(4,), end=("n + 4",))
    y: f32[n - 1] = R.strided_slice(joined, axes=(0,), begin=(5,), end=("n + 4",))
    z: f32[1] = R.strided_slice(joined, axes=(0,), begin=("n + 4",), end=("n + 5",))
    return x, y, z


# Slices of slices, slices that are joined again, and splits at the seams.
# CHECK-LABEL: def again(
# CHECK: s: {{.*}} = R.strided_slice(x, axes=(0, 1), begin=(3, 0), end=(5, 4))
# CHECK-NEXT: return s, x, x, t
def again(x: f32[8, 8], t: f32[2, 8]) -> R.Tuple(f32[2, 4], f32[8, 8], f32[8, 8], f32[2, 8]):
    r = R.strided_slice(x, axes=(0,), begin=(2,), end=(7,))
    s = R.strided_slice(r, axes=(0, 1), begin=(1, -8), end=(3, 4))
    low = R.strided_slice(x, axes=(1,), begin=(0,), end=(3,))
    high = R.strided_slice(x, axes=(1,), begin=(3,), end=(8,))
    whole = R.concat((low, high), axis=1)
    p, q = R.split(R.concat((x, t)), (8,))
    return s, whole, p, q


# Only dimensions of size 1 move: no element does. Elementwise functions do not care.
# CHECK-LABEL: def transposes(
# CHECK: p: R.Tensor((1, "n", 4, 1), "float32") = R.reshape(x, (1, "n", 4, 1))
# CHECK-NEXT: s: {{.*}} = R.nn.relu(y)
# CHECK-NEXT: return p, s
def transposes(x: f32[n, 1, 4, 1], y: f32[2, 3, 4]) -> R.Tuple(f32[1, n, 4, 1], f32[2, 3, 4]):
    p = R.permute_dims(x, axes=(1, 0, 2, 3))
    q = R.permute_dims(y, axes=(1, 2, 0))
    r = R.nn.relu(q)
    s = R.permute_dims(r, axes=(2, 0, 1))
    return p, s


# Sizes as bounds. Inference decides about the checks.
# CHECK-LABEL: def bounds(
# CHECK: y: R.Tensor((1, "min(n, 9)"), "float32") = R.strided_slice(
# CHECK-NEXT: x, axes=(0, 1), begin=(0, 0), end=(9223372036854775807, "n"), strides=(1, 1),
# CHECK-NEXT: )
# CHECK-NEXT: return y
def bounds(x: f32[1, 9], of: f32[n]) -> f32[1, min(n, 9)]:
    end = R.shape_to_tensor((9223372036854775807, "n"))
    sliced = R.dynamic_strided_slice(x, R.const([0, 0], "int64"), end, R.const([1, 1], "int64"))
    y = R.match_cast(sliced, out_sinfo=f32[1, min(n, 9)])
    return y


# Of one scale, with nothing between that makes other numbers.
# CHECK-LABEL: def quantized(
# CHECK-NEXT: q: R.Tensor((2, 8), "int8") = R.reshape(x, (2, 8))
# CHECK-NEXT: return q
def quantized(x: i8[4, 4]) -> i8[2, 8]:
    scale = R.const(0.25, "float32")
    zero = R.const(3, "int8")
    d = R.dequantize(x, scale, zero)
    m = R.reshape(d, (2, 8))
    q = R.quantize(m, scale, zero)
    return q


# A ReLU of dequantized integers is a maximum with their zero point.
# CHECK-LABEL: def relu(
# CHECK-NEXT: q: R.Tensor((4, 4), "int8") = R.maximum(x, R.const(3, "int8"))
# CHECK-NEXT: return q
def relu(x: i8[4, 4]) -> i8[4, 4]:
    scale = R.const(0.25, "float32")
    zero = R.const(3, "int8")
    d = R.dequantize(x, scale, zero)
    m = R.nn.relu(d)
    q = R.quantize(m, scale, zero)
    return q


# A slice within an axis becomes a reshape and a slice, if the other axes stay unchanged.
# CHECK-LABEL: def heads(
# CHECK: R.reshape(x, (4, 4, 2))
# CHECK-NEXT: {{.*}} = R.strided_slice(
# CHECK: return
def heads(x: f32[4, 8]) -> f32[4, 2, 2]:
    s = R.strided_slice(x, axes=[1], begin=[2], end=[6])
    return R.reshape(s, (4, 2, 2))


# CHECK-LABEL: def others_change(
# CHECK: {{.*}} = R.strided_slice(
# CHECK: R.reshape({{.*}}, (2, 2, 4))
# CHECK-NEXT: return
def others_change(x: f32[4, 8]) -> f32[2, 2, 4]:
    s = R.strided_slice(x, axes=[1], begin=[4], end=[8])
    return R.reshape(s, (2, 2, 4))


# CHECK-LABEL: def nothing_is_split(
# CHECK: {{.*}} = R.strided_slice(
# CHECK: R.reshape({{.*}}, (2, 8))
# CHECK-NEXT: return
def nothing_is_split(x: f32[4, 8]) -> f32[2, 8]:
    s = R.strided_slice(x, axes=[1], begin=[4], end=[8])
    return R.reshape(s, (2, 8))
