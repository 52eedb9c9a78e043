# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_consumers: the blocks that read a block's output."""

from relax_mlir.script import tir as T

moved_by_them = """
on plus_one_doubled: C
  D, = sch.get_consumers(C)
  i, j = sch.get_loops(C)
  sch.reverse_compute_at(D, i)
CHECK-LABEL: def moved_by_them(
CHECK:     v0 = memref.alloca(T.Buffer((1, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[0, j] = A[i, j] + 1.0
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             D[i, j] = v0[0, j] * 2.0
CHECK-NEXT:     return
"""
