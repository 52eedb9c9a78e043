# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.reindex_cache_read: a copy at the indices of a map of a block's iters."""

from relax_mlir.script import tir as T

panels = """
on matmul: C(i, j, k)
  B_panels = sch.reindex_cache_read(C, 1, "global", lambda i, j, k: (j // 16, k, j % 16))
CHECK-LABEL: def panels(
CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 16), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(32):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0[arith.divui(i, 16), j, arith.remui(i, 16)] = B[j, i]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     C[i, j] = 0.0
CHECK-NEXT:                 v1 = A[i, k]
CHECK-NEXT:                 v2 = v0[arith.divui(j, 16), k, arith.remui(j, 16)]
CHECK-NEXT:                 v3 = C[i, j]
CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v4
CHECK-NEXT:     return
"""
