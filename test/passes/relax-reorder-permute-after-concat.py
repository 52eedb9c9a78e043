# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-reorder-permute-after-concat --print-script | FileCheck %s
# RUN: relax-opt %s --relax-combine-parallel-matmul --relax-reorder-permute-after-concat --relax-fuse-transpose-matmul --print-script | FileCheck %s --check-prefix=TOGETHER
"""Counterpart in Apache TVM: test_transform_reorder_permute_dims_after_concat.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Weights that lie transposed.
    # CHECK-LABEL: def weights(
    # CHECK: y: R.Tensor((5, 4), "float32") = R.concat((a, b))
    # CHECK-NEXT: y_1: R.Tensor((4, 5), "float32") = R.permute_dims(y, axes=(1, 0))
    # CHECK-NEXT: return y_1
    @R.function
    def weights(a: R.Tensor((3, 4), "float32"), b: R.Tensor((2, 4), "float32")) -> R.Tensor((4, 5), "float32"):
        y = R.concat((R.permute_dims(a), R.permute_dims(b, axes=(1, -2))), axis=-1)
        return y

    # The joined axis goes where it was.
    # CHECK-LABEL: def three(
    # CHECK: y: R.Tensor(("m + n", 2, 3), "float32") = R.concat((a, b))
    # CHECK-NEXT: y_1: R.Tensor((2, 3, "m + n"), "float32") = R.permute_dims(y, axes=(1, 2, 0))
    @R.function
    def three(a: R.Tensor(("m", 2, 3), "float32"), b: R.Tensor(("n", 2, 3), "float32")) -> R.Tensor(
        (2, 3, "m + n"), "float32"
    ):
        y = R.concat((R.permute_dims(a, axes=(1, 2, 0)), R.permute_dims(b, axes=(1, 2, 0))), axis=2)
        return y

    # Permuted differently, one not at all, one wanted by others too; a lone one is left.
    # CHECK-LABEL: def stays(
    # CHECK-COUNT-6: R.permute_dims(
    # CHECK: return
    @R.function
    def stays(a: R.Tensor((2, 2, 2), "float32"), b: R.Tensor((2, 2, 2), "float32")) -> R.Tuple(
        R.Tensor((4, 2, 2), "float32"),
        R.Tensor((4, 2, 2), "float32"),
        R.Tensor((4, 2, 2), "float32"),
        R.Tensor((2, 2, 2), "float32"),
        R.Tensor((2, 2, 2), "float32"),
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
    @R.function
    def projections(
        x: R.Tensor(("n", 4), "float32"), a: R.Tensor((3, 4), "float32"), b: R.Tensor((6, 4), "float32")
    ) -> R.Tuple(R.Tensor(("n", 3), "float32"), R.Tensor(("n", 6), "float32")):
        s = R.permute_dims(a)
        p = R.matmul(x, s)
        t = R.permute_dims(b)
        q = R.matmul(x, t)
        return p, q
