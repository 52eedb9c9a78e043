# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.read_at: a copy of the elements that a step of a loop reads."""

from relax_mlir.script import tir as T

rows = """
on matmul: C(i, j, k)
  A_local = sch.read_at(i, C, 0, "local")
CHECK-LABEL: def rows(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0[0, j] = A[i, j]
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     C[i, j] = 0.0
CHECK-NEXT:                 v1 = v0[0, k]
CHECK-NEXT:                 v2 = B[k, j]
CHECK-NEXT:                 v3 = C[i, j]
CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v4
CHECK-NEXT:     return
"""
