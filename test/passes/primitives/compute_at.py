# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.compute_at: a block makes what one step needs, in memory for that."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def rows(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[0, j] = v1 * v1
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def rows(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    "sch.compute_at(B, i_1)",
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

    # CHECK-LABEL: def halo(
    # CHECK:     v0 = memref.alloca(T.Buffer((6, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(2):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 v0[j, k] = A[j + i * 4, k] * 2.0
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 v1 = v0[j, k]
    # CHECK-NEXT:                 v2 = v0[j + 1, k]
    # CHECK-NEXT:                 v3 = v0[j + 2, k]
    # CHECK-NEXT:                 C[i * 4 + j, k] = v1 + v2 + v3
    # CHECK-NEXT:     return
    @T.prim_func
    def halo(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    "o, n = sch.split(i_1, [None, 4])",
                    "sch.compute_at(B, o)",
                ]
            }
        )
        B = T.alloc_buffer((10, 8), "float32")
        for i, j in T.grid(10, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
