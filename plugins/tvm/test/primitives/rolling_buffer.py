# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.rolling_buffer: steps of a loop keep elements of the previous step."""

from relax_mlir.script import tir as T

rows = """
on three_row_sums: B C(i, j)
  sch.compute_at(B, i)
  sch.rolling_buffer(B, 0)
CHECK-LABEL: def rows(
CHECK:     v0 = memref.alloca(T.Buffer((3, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(3):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if arith.minsi(i, 1) * 2 - j < 1:
CHECK-NEXT:                     v1 = j + i
CHECK-NEXT:                     v2 = A[v1, k]
CHECK-NEXT:                     v0[arith.remui(v1, 3), k] = v2 * v2
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = v0[arith.remui(i, 3), j]
CHECK-NEXT:             v2 = v0[arith.remui(i + 1, 3), j]
CHECK-NEXT:             v3 = v0[arith.remui(i + 2, 3), j]
CHECK-NEXT:             C[i, j] = v1 + v2 + v3
CHECK-NEXT:     return
"""

tiles = """
# Of the loops of tiles the outer one slides: whole rows are kept, at each step of threads' loops anew.
on three_row_sums: B C(i, j)
  i_0, i_1, i_2 = sch.split(i, [2, None, 2])
  j_0, j_1 = sch.split(j, [None, 4])
  sch.reorder(i_0, i_1, j_0, i_2, j_1)
  sch.parallel(i_0)
  sch.compute_at(B, j_0)
  sch.rolling_buffer(B, 0)
CHECK-LABEL: def tiles(
CHECK:     with scf.for_(T.index(0), T.index(2), T.index(1), attrs={"tir.parallel": 0}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = memref.alloca(T.Buffer((4, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:             for i in range(2):
CHECK-NEXT:                 for j in range(2):
CHECK-NEXT:                     for k in range(4):
CHECK-NEXT:                         for l in range(4):
CHECK-NEXT:                             v1 = i * 2
CHECK-NEXT:                             if v1 - k < 1:
CHECK-NEXT:                                 v2 = k + arg0 * 4 + v1
CHECK-NEXT:                                 v3 = l + j * 4
CHECK-NEXT:                                 v4 = A[v2, v3]
CHECK-NEXT:                                 v0[arith.remui(k + v1, 4), v3] = v4 * v4
CHECK-NEXT:                     for k in range(2):
CHECK-NEXT:                         for l in range(4):
CHECK-NEXT:                             v1 = i * 2
CHECK-NEXT:                             v2 = v1 + k
CHECK-NEXT:                             v3 = j * 4 + l
CHECK-NEXT:                             v4 = v0[v2, v3]
CHECK-NEXT:                             v5 = v0[arith.remui(v2 + 1, 4), v3]
CHECK-NEXT:                             v6 = v0[arith.remui(v2 + 2, 4), v3]
CHECK-NEXT:                             C[arg0 * 4 + v1 + k, v3] = v4 + v5 + v6
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""
