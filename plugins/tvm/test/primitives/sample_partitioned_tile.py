# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.sample_partitioned_tile: random factors for a split, with inner ones for a multiple."""

from relax_mlir.script import tir as T

by_decision = """
on matmul: C(i, j, k)
  v0, v1, v2 = sch.sample_partitioned_tile(j, 3, 1, 4, decision=[4, 2, 4])
  a, b, c = sch.split(j, [v0, v1, v2])
CHECK-LABEL: def by_decision(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(4):
CHECK-NEXT:                     for i0 in range(8):
CHECK-NEXT:                         if i0 == 0:
CHECK-NEXT:                             C[i, j * 8 + k * 4 + l] = 0.0
CHECK-NEXT:                         v0 = A[i, i0]
CHECK-NEXT:                         v1 = j * 8 + k * 4 + l
CHECK-NEXT:                         v2 = B[i0, v1]
CHECK-NEXT:                         v3 = C[i, v1]
CHECK-NEXT:                         v4 = arith.addf(v3, arith.mulf(v0, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                         C[i, v1] = v4
CHECK-NEXT:     return
"""
