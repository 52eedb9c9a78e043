# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.reindex_cache_write: a block that writes at the indices of a map of its iters."""

from relax_mlir.script import tir as T

columns = """
on matmul: C(i, j, k)
  C_columns = sch.reindex_cache_write(C, 0, "local", lambda i, j, k: (j, i))
CHECK-LABEL: def columns(
CHECK:     v0 = memref.alloca(T.Buffer((32, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v0[j, i] = 0.0
CHECK-NEXT:                 v1 = A[i, k]
CHECK-NEXT:                 v2 = B[k, j]
CHECK-NEXT:                 v3 = v0[j, i]
CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 v0[j, i] = v4
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             C[i, j] = v0[j, i]
CHECK-NEXT:     return
"""
