# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.transform_block_layout: a block's iters and loops, by an index map."""

from relax_mlir.script import tir as T

split_and_reordered = """
on matmul_6_columns: C
  sch.transform_block_layout(C, lambda i, j, k: (j // 2, k, i, j % 2))
CHECK-LABEL: def split_and_reordered(
CHECK:     for i in range(3):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 for l in range(2):
CHECK-NEXT:                     if j == 0:
CHECK-NEXT:                         C[k, i * 2 + l] = 0.0
CHECK-NEXT:                     v0 = A[k, j]
CHECK-NEXT:                     v1 = i * 2 + l
CHECK-NEXT:                     v2 = B[j, v1]
CHECK-NEXT:                     v3 = C[k, v1]
CHECK-NEXT:                     v4 = arith.addf(v3, arith.mulf(v0, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                     C[k, v1] = v4
CHECK-NEXT:     return
"""

fused = """
# One loop for the points, one for the steps of the reduction.
on matmul_6_columns: C
  sch.transform_block_layout(C, lambda i, j, k: (i * 6 + j, k // 4, k % 4))
CHECK-LABEL: def fused(
CHECK:     v0 = memref.collapse_shape(C, T.Buffer((24,), "float32"), reassociation=[[0, 1]])
CHECK-NEXT:     for i in range(24):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 if (j == 0) & (k == 0):
CHECK-NEXT:                     v0[i] = 0.0
CHECK-NEXT:                 v1 = arith.divui(i, 6)
CHECK-NEXT:                 v2 = j * 4 + k
CHECK-NEXT:                 v3 = A[v1, v2]
CHECK-NEXT:                 v4 = B[v2, arith.remui(i, 6)]
CHECK-NEXT:                 v5 = v0[i]
CHECK-NEXT:                 v6 = arith.addf(v5, arith.mulf(v3, v4, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 v0[i] = v6
CHECK-NEXT:     return
"""
