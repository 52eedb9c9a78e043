# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.reorder_block_iter_var: the order of iters, which determines the layout of reindex's copy."""

from relax_mlir.script import tir as T

columns_first = """
on plus_one_and_doubled: C
  sch.reorder_block_iter_var(C, [1, 0])
  copy = sch.reindex(C, ("read", 0))
CHECK-LABEL: def columns_first(
CHECK:     v0 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[i, j] = A[j, i]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             C[i, j] = v0[j, i] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
CHECK-NEXT:     return
"""
