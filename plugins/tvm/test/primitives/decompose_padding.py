# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.decompose_padding: a padding block becomes a fill and a copy of the inner elements."""

from relax_mlir.script import tir as T


@T.prim_func
def padded_rows(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(2 <= vj and vj < 12, A[vi, vj - 2], T.float32(0))


rows = """
on padded_rows: C(i, j)
  fill = sch.decompose_padding(C, i)
CHECK-LABEL: def rows(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             C[i, j] = 0.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(10):
CHECK-NEXT:             C[i, j + 2] = A[i, j]
CHECK-NEXT:     return
"""

at_each_row = """
# In a loop that stays. Split loops are guarded by their limits.
on padded_rows: C(i, j)
  j_0, j_1 = sch.split(j, [None, 4])
  fill = sch.decompose_padding(C, j_0)
CHECK-LABEL: def at_each_row(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 C[i, j * 4 + k] = 0.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 v0 = j * 4 + k
CHECK-NEXT:                 v1 = v0 + -2
CHECK-NEXT:                 if (v1 < 10) & (v1 > -1):
CHECK-NEXT:                     C[i, v0] = A[i, v1]
CHECK-NEXT:     return
"""


@T.prim_func
def inside_a_consumer(A: T.Buffer((10,), "float32"), C: T.Buffer((12,), "float32")):
    P = T.alloc_buffer((12,), "float32")
    for i in range(12):
        with T.block("P"):
            vi = T.axis.spatial(12, i)
            P[vi] = T.if_then_else(vi >= 1 and vi < 11, A[vi - 1] + A[vi - 1], T.float32(3))
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = P[vi] * T.float32(2)


inside_a_consumer = """
# Padding that is computed inside of its consumer: each step fills its part.
on inside_a_consumer: P C(i)
  i_0, i_1 = sch.split(i, [None, 4])
  sch.compute_at(P, i_0)
  i_0, ax0 = sch.get_loops(P)
  fill = sch.decompose_padding(P, ax0)
CHECK-LABEL: def inside_a_consumer(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[j] = 3.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = j + i * 4 + -1
CHECK-NEXT:             if (v1 < 10) & (v1 > -1):
CHECK-NEXT:                 v2 = A[v1]
CHECK-NEXT:                 v0[j] = v2 + v2
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i * 4 + j] = v0[j] * 2.0
CHECK-NEXT:     return
"""
