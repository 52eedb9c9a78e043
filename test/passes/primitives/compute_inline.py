# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.compute_inline: a block's computation at the places of its reads."""

from relax_mlir.script import tir as T

once = """
on squares_plus_one: B C(i_1, j_1)
  sch.compute_inline(B)
CHECK-LABEL: def once(
CHECK:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             C[i, j] = v0 * v0 + 1.0
CHECK-NEXT:     return
"""

three_times = """
on three_doubled_rows: B C(i_1, j_1)
  sch.compute_inline(B)
CHECK-LABEL: def three_times(
CHECK:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             v1 = A[i + 1, j]
CHECK-NEXT:             v2 = A[i + 2, j]
CHECK-NEXT:             C[i, j] = v0 * 2.0 + v1 * 2.0 + v2 * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def into_a_sum(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vk]


into_a_sum = """
# In a reduction, which starts as before.
on into_a_sum: B
  sch.compute_inline(B)
CHECK-LABEL: def into_a_sum(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 C[i] = 0.0
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             v1 = arith.addf(C[i], arith.mulf(v0, v0, fastmath="contract"), fastmath="contract")
CHECK-NEXT:             C[i] = v1
CHECK-NEXT:     return
"""


@T.prim_func
def at_other_indices(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.Cast("float32", vi * 8 + vj)
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi] + A[vj, vi]


at_other_indices = """
# Indices are the reader's. A value that both read is read once.
on at_other_indices: B
  sch.compute_inline(B)
CHECK-LABEL: def at_other_indices(
CHECK:     for i in range(8):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = A[j, i]
CHECK-NEXT:             C[i, j] = v0 * arith.sitofp(arith.index_cast(j * 8 + i, T.int64), T.float32) + v0
CHECK-NEXT:     return
"""

for_two = """
# Each reader computes it.
on squares_read_twice: B
  sch.compute_inline(B)
CHECK-LABEL: def for_two(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             C[i, j] = v0 * v0 + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             D[i, j] = v0 * v0 * 2.0
CHECK-NEXT:     return
"""

at_computed_places = """
# A reader's computed index or condition also applies to the inlined computation.
on gathered: B
  sch.compute_inline(B)
CHECK-LABEL: def at_computed_places(
CHECK:     for i in range(8):
CHECK-NEXT:         v0 = A[arith.index_cast(arith.maxsi(arith.minsi(I_1[i], 7), 0), T.index)]
CHECK-NEXT:         C[i] = v0 * v0
CHECK-NEXT:     return
"""


@T.prim_func
def into_padding(A: T.Buffer((16,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + A[vi * 2]
    for i in range(10):
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = T.if_then_else(1 <= vi and vi < 9, B[vi - 1], T.float32(0))


into_padding = """
on into_padding: B
  sch.compute_inline(B)
CHECK-LABEL: def into_padding(
CHECK:     for i in range(10):
CHECK-NEXT:         if (i >= 1) & (i < 9):
CHECK-NEXT:             v0 = A[i - 1] + A[i * 2 + -2]
CHECK-NEXT:         else:
CHECK-NEXT:             v0 = T.float32(0.0)
CHECK-NEXT:         C[i] = v0
CHECK-NEXT:     return
"""


@T.prim_func
def dead(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] * T.float32(2)


dead = """
# An unused block need not run.
on dead: B
  sch.compute_inline(B)
CHECK-LABEL: def dead(
CHECK:     for i in range(8):
CHECK-NEXT:         C[i] = A[i] * 2.0
CHECK-NEXT:     return
"""
