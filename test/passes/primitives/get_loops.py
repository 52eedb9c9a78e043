# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_loops: the loops around a block, outermost first."""

from relax_mlir.script import tir as T

outermost_first = """
on squares_2_by_3_by_4: B(a, b, c)
  sch.vectorize(c)
  sch.unroll(a)
CHECK-LABEL: def outermost_first(
CHECK:     for i in range(3):
CHECK-NEXT:         v0 = vector.load(A, 0, i, 0, T.float32x4)
CHECK-NEXT:         vector.store(v0 * v0, B, 0, i, 0)
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         v0 = vector.load(A, 1, i, 0, T.float32x4)
CHECK-NEXT:         vector.store(v0 * v0, B, 1, i, 0)
CHECK-NEXT:     return
"""

as_they_stand_now = """
on squares_4_by_8: B(i, j)
  sch.split(j, [None, 2])
  i, a, b = sch.get_loops(B)
  sch.reorder(a, i)
  a, i, b = sch.get_loops(B)
  sch.vectorize(b)
CHECK-LABEL: def as_they_stand_now(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = i * 2
CHECK-NEXT:             v1 = vector.load(A, j, v0, T.float32x2)
CHECK-NEXT:             vector.store(v1 * v1, B, j, v0)
CHECK-NEXT:     return
"""

shared = """
# Of a block in another one's loops.
on squares_plus_one_4_by_4: B C(i, j)
  sch.compute_at(B, i)
  i, ax = sch.get_loops(B)
  sch.unroll(ax)
CHECK-LABEL: def shared(
CHECK:     v0 = memref.alloca(T.Buffer((1, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v1 = A[i, 0]
CHECK-NEXT:         v0[0, 0] = v1 * v1
CHECK-NEXT:         v2 = A[i, 1]
CHECK-NEXT:         v0[0, 1] = v2 * v2
CHECK-NEXT:         v3 = A[i, 2]
CHECK-NEXT:         v0[0, 2] = v3 * v3
CHECK-NEXT:         v4 = A[i, 3]
CHECK-NEXT:         v0[0, 3] = v4 * v4
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""
