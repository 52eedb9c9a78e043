# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-reorder-matmul --print-script | FileCheck %s
"""Counterpart in Apache TVM: test_transform_adjust_matmul_order.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Weights of rank 2 (LoRA): whatever n is, their product would cost more.
    # CHECK-LABEL: def low_rank(
    # CHECK: y: R.Tensor(("n", 2), "float32") = R.matmul(x, a)
    # CHECK-NEXT: y_1: R.Tensor(("n", 64), "float32") = R.matmul(y, b)
    # CHECK-NEXT: return y_1
    @R.function
    def low_rank(
        x: R.Tensor(("n", 64), "float32"), a: R.Tensor((64, 2), "float32"), b: R.Tensor((2, 64), "float32")
    ) -> R.Tensor(("n", 64), "float32"):
        w = R.matmul(a, b)
        y = R.matmul(x, w)
        return y

    # So from the other side, with batches.
    # CHECK-LABEL: def columns(
    # CHECK: y: R.Tensor((3, 2, "n"), "float32") = R.matmul(b, x)
    # CHECK-NEXT: y_1: R.Tensor((3, 64, "n"), "float32") = R.matmul(a, y)
    # CHECK-NEXT: return y_1
    @R.function
    def columns(
        x: R.Tensor((3, 64, "n"), "float32"), a: R.Tensor((64, 2), "float32"), b: R.Tensor((2, 64), "float32")
    ) -> R.Tensor((3, 64, "n"), "float32"):
        y = R.matmul(R.matmul(a, b), x)
        return y

    # A chain of four factors, cheapest from the vector on.
    # CHECK-LABEL: def chain(
    # CHECK: y: {{.*}} = R.matmul(c, v)
    # CHECK-NEXT: y_1: {{.*}} = R.matmul(b, y)
    # CHECK-NEXT: y_2: {{.*}} = R.matmul(a, y_1)
    # CHECK-NEXT: return y_2
    @R.function
    def chain(
        a: R.Tensor((8, 8), "float32"),
        b: R.Tensor((8, 8), "float32"),
        c: R.Tensor((8, 8), "float32"),
        v: R.Tensor((8,), "float32"),
    ) -> R.Tensor((8,), "float32"):
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
    @R.function
    def stays(
        x: R.Tensor(("n", 3), "float32"),
        a: R.Tensor((3, "k"), "float32"),
        b: R.Tensor(("k", 7), "float32"),
        s: R.Tensor((8, 8), "float32"),
        c: R.Tensor((7, 5), "float32"),
        z: R.Tensor((5, 5), "float32"),
    ) -> R.Tuple(
        R.Tensor(("n", 7), "float32"),
        R.Tensor((8, 8), "float32"),
        R.Tensor(("k", 5), "float32"),
        R.Tensor(("k", 5), "float32"),
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
    @R.function
    def others(
        v: R.Tensor((2,), "float32"),
        b: R.Tensor((2, 2, 64), "float32"),
        c: R.Tensor((64, 2), "float32"),
        a: R.Tensor((64, 64), "float32"),
        w: R.Tensor((64, 1), "float64"),
    ) -> R.Tuple(R.Tensor((2, 2), "float32"), R.Tensor((64, 1), "float64")):
        p = R.matmul(R.matmul(v, b), c)
        q = R.matmul(R.matmul(a, a, out_dtype="float64"), w)
        return p, q
