# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_producers: the blocks that compute a block's input."""

from relax_mlir.script import tir as T

moved_by_them = """
on plus_one_doubled: D
  C, = sch.get_producers(D)
  sch.compute_inline(C)
CHECK-LABEL: def moved_by_them(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             D[i, j] = (A[i, j] + 1.0) * 2.0
CHECK-NEXT:     return
"""
