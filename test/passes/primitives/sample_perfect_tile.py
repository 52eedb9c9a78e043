# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.sample_perfect_tile: factors for a split. The text has the decision; else the default is taken."""

from relax_mlir.script import tir as T

by_decision = """
on matmul: C(i, j, k)
  v0, v1 = sch.sample_perfect_tile(j, 2, decision=[8, 4])
  j_0, j_1 = sch.split(j, [v0, v1])
CHECK-LABEL: def by_decision(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 for l in range(8):
CHECK-NEXT:                     if l == 0:
CHECK-NEXT:                         C[i, j * 4 + k] = 0.0
CHECK-NEXT:                     v0 = A[i, l]
CHECK-NEXT:                     v1 = j * 4 + k
CHECK-NEXT:                     v2 = B[l, v1]
CHECK-NEXT:                     v3 = C[i, v1]
CHECK-NEXT:                     v4 = arith.addf(v3, arith.mulf(v0, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                     C[i, v1] = v4
CHECK-NEXT:     return
"""

by_default = """
on matmul: C(i, j, k)
  v0, v1 = sch.sample_perfect_tile(j, 2, default=[None, 2])
  j_0, j_1 = sch.split(j, [v0, v1])
CHECK-LABEL: def by_default(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(8):
CHECK-NEXT:                     if l == 0:
CHECK-NEXT:                         C[i, j * 2 + k] = 0.0
CHECK-NEXT:                     v0 = A[i, l]
CHECK-NEXT:                     v1 = j * 2 + k
CHECK-NEXT:                     v2 = B[l, v1]
CHECK-NEXT:                     v3 = C[i, v1]
CHECK-NEXT:                     v4 = arith.addf(v3, arith.mulf(v0, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                     C[i, v1] = v4
CHECK-NEXT:     return
"""
