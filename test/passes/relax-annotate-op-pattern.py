# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-annotate-op-pattern --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='func.func(relax-annotate-op-pattern)' --print-script | FileCheck %s
"""Fusion patterns of tensor programs by their operations.

Situations of Apache TVM's test_transform_annotate_tir_op_pattern.py.
"""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Patterns:
    # CHECK: "tir.op_pattern": "elemwise"
    # CHECK-NEXT: def each(
    @T.prim_func
    def each(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4, 8), "float32")) -> T.Tensor((4, 8), "float32"):
        for i, j in T.grid(4, 8):
            Y[i, j] = T.exp(X[i, j])
        return Y

    # The order of the loops says nothing.
    # CHECK: "tir.op_pattern": "elemwise"
    # CHECK-NEXT: def columns_first(
    @T.prim_func
    def columns_first(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4, 8), "float32")) -> T.Tensor((4, 8), "float32"):
        for j, i in T.grid(8, 4):
            Y[i, j] = X[i, j] + X[i, j]
        return Y

    # CHECK: "tir.op_pattern": "broadcast"
    # CHECK-NEXT: def bias(
    @T.prim_func
    def bias(X: T.Tensor((4, 8), "float32"), B: T.Tensor((8,), "float32"), Y: T.Tensor((4, 8), "float32")) -> T.Tensor(
        (4, 8), "float32"
    ):
        for i, j in T.grid(4, 8):
            Y[i, j] = X[i, j] + B[j]
        return Y

    # CHECK: "tir.op_pattern": "broadcast"
    # CHECK-NEXT: def column(
    @T.prim_func
    def column(X: T.Tensor((4, 1), "float32"), Y: T.Tensor((4, 8), "float32")) -> T.Tensor((4, 8), "float32"):
        for i, j in T.grid(4, 8):
            Y[i, j] = X[i, 0]
        return Y

    # CHECK: "tir.op_pattern": "injective"
    # CHECK-NEXT: def turned(
    @T.prim_func
    def turned(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((8, 4), "float32")) -> T.Tensor((8, 4), "float32"):
        for i, j in T.grid(8, 4):
            Y[i, j] = X[j, i]
        return Y

    # CHECK: "tir.op_pattern": "injective"
    # CHECK-NEXT: def even(
    @T.prim_func
    def even(X: T.Tensor((8,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        for i in T.grid(4):
            Y[i] = X[i * 2]
        return Y

    # CHECK: "tir.op_pattern": "injective"
    # CHECK-NEXT: def taken(
    @T.prim_func
    def taken(X: T.Tensor((8,), "float32"), I: T.Tensor((4,), "index"), Y: T.Tensor((4,), "float32")) -> T.Tensor(
        (4,), "float32"
    ):
        for i in T.grid(4):
            Y[i] = X[I[i]]
        return Y

    # CHECK: "tir.op_pattern": "comm_reduce"
    # CHECK-NEXT: def total(
    @T.prim_func
    def total(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        Y[:] = 0.0
        for i, k in T.grid(4, T.reduce(8)):
            Y[i] = Y[i] + X[i, k]
        return Y

    # CHECK: "tir.op_pattern": "out_ewise_fusable"
    # CHECK-NEXT: def product(
    @T.prim_func
    def product(
        A: T.Tensor((4, 6), "float32"), B: T.Tensor((6, 8), "float32"), C: T.Tensor((4, 8), "float32")
    ) -> T.Tensor((4, 8), "float32"):
        C[:] = 0.0
        for i, j, k in T.grid(4, 8, T.reduce(6)):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
        return C

    # The function reads its output's old contents.
    # CHECK: "tir.op_pattern": "opaque"
    # CHECK-NEXT: def goes_on(
    @T.prim_func
    def goes_on(X: T.Tensor((4, 8), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        for i, k in T.grid(4, T.reduce(8)):
            Y[i] = Y[i] + X[i, k]
        return Y

    # So does this one, element by element.
    # CHECK: "tir.op_pattern": "opaque"
    # CHECK-NEXT: def accumulates(
    @T.prim_func
    def accumulates(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        for i in T.grid(4):
            Y[i] = Y[i] + X[i]
        return Y

    # CHECK: "tir.op_pattern": "opaque"
    # CHECK-NEXT: def asserts(
    @T.prim_func
    def asserts(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        T.assert_(T.bool(True), kind="ValueError", message="no")
        for i in T.grid(4):
            Y[i] = X[i]
        return Y

    # An existing annotation stays.
    # CHECK: "tir.op_pattern": "opaque"
    # CHECK-NEXT: def said(
    @T.prim_func(attrs={"tir.op_pattern": "opaque"})
    def said(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        for i in T.grid(4):
            Y[i] = X[i]
        return Y
