# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_output_blocks: the blocks that write parameters."""

from relax_mlir.script import tir as T

all_of_them = """
on plus_one_and_doubled
  C, D = sch.get_output_blocks()
  i, j = sch.get_loops(D)
  sch.reorder(j, i)
CHECK-LABEL: def all_of_them(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             C[i, j] = A[i, j] + 1.0
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             D[j, i] = C[j, i] * 2.0
CHECK-NEXT:     return
"""
