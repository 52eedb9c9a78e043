# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.annotate_buffer_access: the part of a buffer that a block reads."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # Nothing else is known about the rows: the annotated ones are computed.
    # CHECK-LABEL: def near_a_row(
    # CHECK:     v0 = memref.alloca(T.Buffer((8, 6), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(5):
    # CHECK-NEXT:         for j in range(2):
    # CHECK-NEXT:             for k in range(6):
    # CHECK-NEXT:                 v1 = j + i
    # CHECK-NEXT:                 v0[v1, k] = A[v1, k] * 2.0
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             C[i, j] = v0[arith.index_cast(arith.maxsi(arith.minsi(I_1[i], 7), 0), T.index), j]
    # CHECK-NEXT:     return
    @T.prim_func
    def near_a_row(A: T.Buffer((8, 6), "float32"), I: T.Buffer((5,), "int64"), C: T.Buffer((5, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i, j = sch.get_loops(C)",
                    'sch.annotate_buffer_access(C, "B", "read", lambda vi, vj: ((vi, vi + 2), vj))',
                    "sch.compute_at(B, i)",
                ]
            }
        )
        B = T.alloc_buffer((8, 6), "float32")
        for i, j in T.grid(8, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(5, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[I[vi], vj]

    # For a known region the annotation is only a note.
    # CHECK-LABEL: def what_is_written(
    # CHECK:     v0 = memref.alloca(T.Buffer((8, 12), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(12):
    # CHECK-NEXT:             v0[i, j] = A[i, j] * 2.0
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(12):
    # CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def what_is_written(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'sch.annotate_buffer_access(B, 0, "write", lambda vi, vj: ((vi, vi + 2), (0, 12)))',
                ]
            }
        )
        B = T.alloc_buffer((8, 12), "float32")
        for i, j in T.grid(8, 12):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(8, 12):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
