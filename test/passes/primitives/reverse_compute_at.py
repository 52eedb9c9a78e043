# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.reverse_compute_at: a block goes on with what one step has made."""

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
                    "i, j = sch.get_loops(B)",
                    "sch.reverse_compute_at(C, i)",
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

    # A loop of one step for each iter that the step fixes.
    # CHECK-LABEL: def unit_loops(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[0, j] = v1 * v1
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def unit_loops(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i, j = sch.get_loops(B)",
                    "sch.reverse_compute_at(C, i, preserve_unit_loops=True)",
                    "i, ax0, ax1 = sch.get_loops(C)",
                    "sch.parallel(ax0)",
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

    # What one tile has made.
    # CHECK-LABEL: def tiles(
    # CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(2):
    # CHECK-NEXT:         for j in range(2):
    # CHECK-NEXT:             for k in range(4):
    # CHECK-NEXT:                 for l in range(4):
    # CHECK-NEXT:                     v1 = A[i * 4 + k, j * 4 + l]
    # CHECK-NEXT:                     v0[k, l] = v1 * v1
    # CHECK-NEXT:             for k in range(4):
    # CHECK-NEXT:                 for l in range(4):
    # CHECK-NEXT:                     C[k + i * 4, l + j * 4] = v0[k, l] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def tiles(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i, j = sch.get_loops(B)",
                    "i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)",
                    "sch.reverse_compute_at(C, j_0)",
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

    # One step makes what is read one place further: at the first there is nothing to do.
    # CHECK-LABEL: def shifted(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 1), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[0, 0] = v1 * v1
    # CHECK-NEXT:             v2 = j + -1
    # CHECK-NEXT:             if v2 > -1:
    # CHECK-NEXT:                 C[i, v2] = v0[0, 0] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def shifted(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 7), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i, j = sch.get_loops(B)",
                    "sch.reverse_compute_at(C, j)",
                ]
            }
        )
        B = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 7):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj + 1] + T.float32(1)

    # Before what is there already.
    # CHECK-LABEL: def at_an_index(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[0, j] = v1 * v1
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             D[i, j] = v0[0, j] * 3.0
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def at_an_index(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32"), D: T.Buffer((4, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    'D = sch.get_block("D")',
                    "i, j = sch.get_loops(B)",
                    "sch.reverse_compute_at(C, i)",
                    "sch.reverse_compute_at(D, i, index=1)",
                ]
            }
        )
        B = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 4):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] * T.float32(3)
