# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.reverse_compute_at: a block processes the results of one step."""

from relax_mlir.script import tir as T

rows = """
on squares_plus_one: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i)
CHECK-LABEL: def rows(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[0, j] = v1 * v1
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""

unit_loops = """
# A loop of one step for each iter that the step fixes.
on squares_plus_one: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i, preserve_unit_loops=True)
  i, ax0, ax1 = sch.get_loops(C)
  sch.parallel(ax0)
CHECK-LABEL: def unit_loops(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[0, j] = v1 * v1
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""

tiles = """
# The results of one tile.
on squares_plus_one: B C
  i, j = sch.get_loops(B)
  i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)
  sch.reverse_compute_at(C, j_0)
CHECK-LABEL: def tiles(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 for l in range(4):
CHECK-NEXT:                     v1 = A[i * 4 + k, j * 4 + l]
CHECK-NEXT:                     v0[k, l] = v1 * v1
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 for l in range(4):
CHECK-NEXT:                     C[k + i * 4, l + j * 4] = v0[k, l] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def shifted(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 7), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 7):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj + 1] + T.float32(1)


shifted = """
# One step computes the element of the next read: the first step has nothing to do.
on shifted: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, j)
CHECK-LABEL: def shifted(
CHECK:     v0 = memref.alloca(T.Buffer((1, 1), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[0, 0] = v1 * v1
CHECK-NEXT:             v2 = j + -1
CHECK-NEXT:             if v2 > -1:
CHECK-NEXT:                 C[i, v2] = v0[0, 0] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def at_an_index(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32"), D: T.Buffer((4, 4), "float32")):
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


at_an_index = """
# Before the existing blocks.
on at_an_index: B C D
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i)
  sch.reverse_compute_at(D, i, index=1)
CHECK-LABEL: def at_an_index(
CHECK:     v0 = memref.alloca(T.Buffer((1, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[0, j] = v1 * v1
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             D[i, j] = v0[0, j] * 3.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def flat(A: T.Buffer((3, 4), "float32"), C: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((3, 4), "float32")
    for i, j in T.grid(3, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = B[vi // 4, vi % 4] + T.float32(1)


flat = """
# A step makes a row, of which a reader sees each element by its quotient and its remainder.
on flat: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i)
CHECK-LABEL: def flat(
CHECK:     v0 = memref.alloca(T.Buffer((1, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[0, j] = A[i, j] * 2.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[j + i * 4] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def pool(A: T.Buffer((8, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((8, 4), "float32")
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j, k in T.grid(4, 4, 2):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + B[vi * 2 + vk, vj]


pool = """
# Two rows per step are the input of one row of a pool.
on pool: B C
  i, j = sch.get_loops(B)
  i_0, i_1 = sch.split(i, [None, 2])
  sch.reverse_compute_at(C, i_0)
CHECK-LABEL: def pool(
CHECK:     v0 = memref.alloca(T.Buffer((2, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 v0[j, k] = A[i * 2 + j, k] * 2.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     C[i, j] = 0.0
CHECK-NEXT:                 v1 = v0[k, j]
CHECK-NEXT:                 v2 = C[i, j]
CHECK-NEXT:                 C[i, j] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     return
"""


@T.prim_func
def across_lines(A: T.Buffer((12, 30), "float32"), C: T.Buffer((12, 30), "float32")):
    B = T.alloc_buffer((12, 30), "float32")
    for i, j in T.grid(12, 30):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(12, 30):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


across_lines = """
# A step's elements may form no box: they are visited in the same order, contiguous in memory.
on across_lines: B C
  i, j = sch.get_loops(B)
  i_j_fused = sch.fuse(i, j)
  i_j_fused_0, i_j_fused_1 = sch.split(i_j_fused, [None, 7])
  sch.reverse_compute_at(C, i_j_fused_0)
CHECK-LABEL: def across_lines(
CHECK:     v0 = memref.alloca(T.Buffer((7,), "float32"), alignment=64, segments=(0, 0))
CHECK:     for i in range(52):
CHECK-NEXT:         for j in range(7):
CHECK-NEXT:             v3 = i * 7 + j
CHECK-NEXT:             if v3 < 360:
CHECK-NEXT:                 v0[j] = v1[v3] * 2.0
CHECK-NEXT:         for j in range(7):
CHECK:                 v2[v3] = v0[j] + 1.0
"""


@T.prim_func
def steps_left_out(A: T.Buffer((3, 10), "float32"), C: T.Buffer((3, 10), "float32")):
    B = T.alloc_buffer((3, 10), "float32")
    for i, j in T.grid(3, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(3, 10):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


steps_left_out = """
# So it is where a loop leaves steps out that is along no dimension.
on steps_left_out: B C
  i, j = sch.get_loops(B)
  unit = sch.add_unit_loop(B)
  unit_0, unit_1 = sch.split(unit, [None, 2])
  j_0, j_1 = sch.split(j, [None, 4])
  sch.reorder(unit_0, j_0, unit_1, j_1)
  sch.reverse_compute_at(C, j_0)
CHECK-LABEL: def steps_left_out(
CHECK:                     v0[0, l] = A[i, v2] * 2.0
CHECK-NEXT:         for k in range(2):
CHECK-NEXT:             for l in range(4):
CHECK-NEXT:                 v1 = k < 1
CHECK-NEXT:                 v2 = l + j * 4
CHECK-NEXT:                 if v1 & (v2 < 10):
CHECK-NEXT:                     C[i, v2] = v0[0, l] + 1.0
"""
