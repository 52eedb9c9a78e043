# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fuse-transpose-matmul --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-fuse-transpose-matmul='most=none' --print-script | FileCheck %s --check-prefix=ALL
# RUN: graphs %s | not relax-opt - --relax-fuse-transpose-matmul='most=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
"""Counterpart in Apache TVM: test_transform_fuse_transpose_matmul.py."""

# NEGATIVE: most must be 0 or more, or none, got -1


# A weight that is transposed is read so. Their number of rows is dynamic; they are taken for few.
# CHECK-LABEL: def weight(
# CHECK: y: {{.*}} = R.einsum((x, w), subscripts="IK,JK->IJ")
# CHECK-NEXT: return y
def weight(x: f32[n, 8], w: f32[9, 8]) -> f32[n, 9]:
    y = R.matmul(x, R.permute_dims(w))
    return y


# Vectors, and heads of attention: any permutation is a way to read.
# CHECK-LABEL: def heads(
# CHECK: s: {{.*}} = R.einsum((q, k), subscripts="aIbK,aJbK->abIJ")
# CHECK-NEXT: u: {{.*}} = R.einsum((v, w), subscripts="K,JK->J")
# CHECK-NEXT: return s, u
def heads(q: f32[2, 3, 4, 5], k: f32[2, 6, 4, 5], v: f32[8], w: f32[9, 8]) -> R.Tuple(f32[2, 4, 3, 6], f32[9]):
    s = R.matmul(R.permute_dims(q, axes=(0, 2, 1, 3)), R.permute_dims(k, axes=(0, 2, 3, 1)))
    u = R.matmul(v, R.permute_dims(w))
    return s, u


# Read a hundred times it is better permuted once; so is a left operand by columns of an unknown number.
# CHECK-LABEL: def often(
# CHECK: R.matmul(
# CHECK: R.matmul(
# ALL-LABEL: def often(
# ALL: y: {{.*}} = R.einsum((x, w), subscripts="IK,JK->IJ")
# ALL-NEXT: z: {{.*}} = R.einsum((w, t), subscripts="KI,KJ->IJ")
def often(x: f32[100, 8], w: f32[9, 8], t: f32[9, m]) -> R.Tuple(f32[100, 9], f32[8, m]):
    y = R.matmul(x, R.permute_dims(w))
    z = R.matmul(R.permute_dims(w), t)
    return y, z


# Batches broadcast as they did.
# ALL-LABEL: def batches(
# ALL: y: R.Tensor((3, 2, 4, 6), "float32") = R.einsum((x, w), subscripts="bIK,abJK->abIJ")
def batches(x: f32[1, 4, 5], w: f32[3, 2, 6, 5]) -> f32[3, 2, 4, 6]:
    y = R.matmul(x, R.permute_dims(w, axes=(0, 1, 3, 2)))
    return y


# Not fused: permutations with other users, constants (permuted during compilation), sizes that are not proven to be
# equal, results of another type.
# ALL-LABEL: def stays(
# ALL-NOT: R.einsum
# ALL: return
def stays(x: f32[4, 8], w: f32[9, 8], u: f32[9, k]) -> R.Tuple(f32[8, 9], f32[4, 9], f32[4, 1], f32[4, 9], f64[4, 9]):
    t = R.permute_dims(w)
    a = R.matmul(x, t)
    ones = R.const([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]], "float32")
    b = R.matmul(x, R.permute_dims(ones))
    c = R.matmul(x, R.permute_dims(u))
    d = R.matmul(x, R.permute_dims(w), out_dtype="float64")
    return t, a, b, c, d
