# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.bind: threads run one after the other on a CPU."""

from relax_mlir.script import tir as T

in_order = """
on matmul: C(i, j, k)
  sch.bind(i, "blockIdx.x")
  sch.bind(j, "threadIdx.x")
CHECK-LABEL: def in_order(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     C[i, j] = 0.0
CHECK-NEXT:                 v0 = A[i, k]
CHECK-NEXT:                 v1 = B[k, j]
CHECK-NEXT:                 v2 = C[i, j]
CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v3
CHECK-NEXT:     return
"""
