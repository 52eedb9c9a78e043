# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.write_at: a copy of the elements that a step of a loop computes."""

from relax_mlir.script import tir as T

rows = """
on matmul: C(i, j, k)
  C_local = sch.write_at(i, C, 0, "local")
CHECK-LABEL: def rows(
CHECK:     v0 = memref.alloca(T.Buffer((1, 32), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v0[0, j] = 0.0
CHECK-NEXT:                 v1 = A[i, k]
CHECK-NEXT:                 v2 = B[k, j]
CHECK-NEXT:                 v3 = v0[0, j]
CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 v0[0, j] = v4
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             C[i, j] = v0[0, j]
CHECK-NEXT:     return
"""
