# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-reorder-permute-after-concat --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-combine-parallel-matmul --relax-reorder-permute-after-concat --relax-fuse-transpose-matmul --print-script | FileCheck %s --check-prefix=TOGETHER
"""Counterpart in Apache TVM: test_transform_reorder_permute_dims_after_concat.py."""


# Weights that lie transposed.
# CHECK-LABEL: def weights(
# CHECK: y: R.Tensor((5, 4), "float32") = R.concat((a, b))
# CHECK-NEXT: y_1: R.Tensor((4, 5), "float32") = R.permute_dims(y, axes=(1, 0))
# CHECK-NEXT: return y_1
def weights(a: f32[3, 4], b: f32[2, 4]) -> f32[4, 5]:
    y = R.concat((R.permute_dims(a), R.permute_dims(b, axes=(1, -2))), axis=-1)
    return y


# The joined axis goes where it was.
# CHECK-LABEL: def three(
# CHECK: y: R.Tensor(("m + n", 2, 3), "float32") = R.concat((a, b))
# CHECK-NEXT: y_1: R.Tensor((2, 3, "m + n"), "float32") = R.permute_dims(y, axes=(1, 2, 0))
def three(a: f32[m, 2, 3], b: f32[n, 2, 3]) -> f32[2, 3, m + n]:
    y = R.concat((R.permute_dims(a, axes=(1, 2, 0)), R.permute_dims(b, axes=(1, 2, 0))), axis=2)
    return y


# Permuted differently, one not at all, one wanted by others too; a lone one is left.
# CHECK-LABEL: def stays(
# CHECK-COUNT-6: R.permute_dims(
# CHECK: return
def stays(a: f32[2, 2, 2], b: f32[2, 2, 2]) -> R.Tuple(
    f32[4, 2, 2], f32[4, 2, 2], f32[4, 2, 2], f32[2, 2, 2], f32[2, 2, 2]
):
    p = R.concat((R.permute_dims(a), R.permute_dims(b, axes=(1, 0, 2))))
    q = R.concat((a, R.permute_dims(b)))
    t = R.permute_dims(a)
    r = R.concat((t, R.permute_dims(b)))
    s = R.concat((R.permute_dims(a),))
    return p, q, r, t, s


# The purpose: three weights of an exporter become one, read in its layout.
# TOGETHER-LABEL: def projections(
# TOGETHER: p_q: R.Tensor((9, 4), "float32") = R.concat((a, b))
# TOGETHER-NEXT: p_q_1: R.Tensor(("n", 9), "float32") = R.einsum((x, p_q), subscripts="IK,JK->IJ")
# TOGETHER-NEXT: p_q_2: {{.*}} = R.strided_slice(p_q_1
def projections(x: f32[n, 4], a: f32[3, 4], b: f32[6, 4]) -> R.Tuple(f32[n, 3], f32[n, 6]):
    s = R.permute_dims(a)
    p = R.matmul(x, s)
    t = R.permute_dims(b)
    q = R.matmul(x, t)
    return p, q
