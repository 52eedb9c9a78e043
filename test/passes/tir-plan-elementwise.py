# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 cores=1}' --print-script | FileCheck %s
"""Repeated elements: a register has all copies of an element if there are few enough, and is filled with them."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: def twice(
    # CHECK: "tir.plan": "order 0 1; vector 0 x 8; tile 1: 2; rule elementwise"
    @T.prim_func
    def twice(A: T.Tensor((64,), "float32"), C: T.Tensor((64, 2), "float32")) -> T.Tensor((64, 2), "float32"):
        for i, j in T.grid(64, 2):
            C[i, j] = A[i]
        return C

    # Two elements in a register are the fewest.
    # CHECK-LABEL: def eight_times(
    # CHECK: "tir.plan": "order 0 1; vector 0 x 2; tile 1: 8; rule elementwise"
    @T.prim_func
    def eight_times(A: T.Tensor((64,), "float32"), C: T.Tensor((64, 8), "float32")) -> T.Tensor((64, 8), "float32"):
        for i, j in T.grid(64, 8):
            C[i, j] = A[i]
        return C

    # CHECK-LABEL: def sixteen_times(
    # CHECK: "tir.plan": "order 0 1; vector 1 x 16; tile 1: 1; rule elementwise"
    @T.prim_func
    def sixteen_times(A: T.Tensor((64,), "float32"), C: T.Tensor((64, 16), "float32")) -> T.Tensor((64, 16), "float32"):
        for i, j in T.grid(64, 16):
            C[i, j] = A[i]
        return C

    # No vector extends beyond the last element: six are three times two, 21 are single ones.
    # CHECK-LABEL: def six(
    # CHECK: "tir.plan": "order 0 1; vector 0 x 2; tile 1: 2; rule elementwise"
    @T.prim_func
    def six(A: T.Tensor((6,), "float32"), C: T.Tensor((6, 2), "float32")) -> T.Tensor((6, 2), "float32"):
        for i, j in T.grid(6, 2):
            C[i, j] = A[i]
        return C

    # CHECK-LABEL: def odd(
    # CHECK: "tir.plan": "order 0 1; vector 1 x 2; tile 1: 1; rule elementwise"
    @T.prim_func
    def odd(A: T.Tensor((21,), "float32"), C: T.Tensor((21, 2), "float32")) -> T.Tensor((21, 2), "float32"):
        for i, j in T.grid(21, 2):
            C[i, j] = A[i]
        return C

    # Three copies fit no register. Copies that differ, or are not adjacent, are no copies.
    # CHECK-LABEL: def thrice(
    # CHECK: "tir.plan": "order 0 1; vector 1 x 4; tile 1: 1; rule elementwise"
    @T.prim_func
    def thrice(A: T.Tensor((64,), "float32"), C: T.Tensor((64, 3), "float32")) -> T.Tensor((64, 3), "float32"):
        for i, j in T.grid(64, 3):
            C[i, j] = A[i]
        return C

    # CHECK-LABEL: def different(
    # CHECK: "tir.plan": "order 0 1; vector 1 x 2; tile 1: 1; rule elementwise"
    @T.prim_func
    def different(
        A: T.Tensor((64,), "float32"), B: T.Tensor((2,), "float32"), C: T.Tensor((64, 2), "float32")
    ) -> T.Tensor((64, 2), "float32"):
        for i, j in T.grid(64, 2):
            C[i, j] = A[i] + B[j]
        return C

    # CHECK-LABEL: def apart(
    # CHECK: "tir.plan": "order 0 1 2; vector 2 x 2; tile 2: 1; rule elementwise"
    @T.prim_func
    def apart(A: T.Tensor((64, 3), "float32"), C: T.Tensor((3, 64, 2), "float32")) -> T.Tensor((3, 64, 2), "float32"):
        for i, j, k in T.grid(3, 64, 2):
            C[i, j, k] = A[j, i]
        return C
