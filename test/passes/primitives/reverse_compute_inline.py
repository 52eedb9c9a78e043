# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.reverse_compute_inline: what a block computes, where what it reads is made."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def once(
    # CHECK:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v0 = A[i, j]
    # CHECK-NEXT:             C[i, j] = v0 * v0 + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def once(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    "sch.reverse_compute_inline(C)",
                ]
            }
        )
        B = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    # What it reads besides, and indices, are those of the block that makes.
    # CHECK-LABEL: def with_others(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v0 = A[i, j]
    # CHECK-NEXT:             v1 = X[j]
    # CHECK-NEXT:             v2 = v0 * v0
    # CHECK-NEXT:             v3 = arith.sitofp(arith.index_cast(i, T.int64), T.float32)
    # CHECK-NEXT:             C[j, i] = v2 + v1 * v3
    # CHECK-NEXT:     return
    @T.prim_func
    def with_others(A: T.Buffer((4, 8), "float32"), X: T.Buffer((8,), "float32"), C: T.Buffer((8, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "sch.reverse_compute_inline(C)",
                ]
            }
        )
        B = T.alloc_buffer((4, 8), "float32")
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj, vi] + X[vi] * T.Cast("float32", vj)

    # CHECK-LABEL: def read_twice(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0 = A[i, j]
    # CHECK-NEXT:             v1 = v0 + 1.0
    # CHECK-NEXT:             C[i, j] = v1 * v1 + v0
    # CHECK-NEXT:     return
    @T.prim_func
    def read_twice(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "sch.reverse_compute_inline(C)",
                ]
            }
        )
        B = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * B[vi, vj] + A[vi, vj]
