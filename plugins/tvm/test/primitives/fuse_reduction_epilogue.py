# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.fuse_reduction_epilogue: a reduction with the added tensor as its initial value."""

from relax_mlir.script import tir as T

bias = """
on matmul_bias: C D
  sch.fuse_reduction_epilogue(C, D)
CHECK-LABEL: def bias(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     D[i, j] = bias[j]
CHECK-NEXT:                 v0 = A[i, k]
CHECK-NEXT:                 v1 = B[k, j]
CHECK-NEXT:                 v2 = D[i, j]
CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 D[i, j] = v3
CHECK-NEXT:     return
"""
