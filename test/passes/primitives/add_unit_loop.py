# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.add_unit_loop: a loop of one step, which later primitives can use."""

from relax_mlir.script import tir as T

around_a_block = """
on squares: B
  u = sch.add_unit_loop(B)
  i, u = sch.get_loops(B)
  sch.reorder(u, i)
CHECK-LABEL: def around_a_block(
CHECK:     for i in range(10):
CHECK-NEXT:         v0 = A[i]
CHECK-NEXT:         B[i] = v0 * v0
CHECK-NEXT:     return
"""

around_a_loop = """
on plus_one_and_doubled: C(i, j)
  u = sch.add_unit_loop(i)
  sch.reorder(j, u)
CHECK-LABEL: def around_a_loop(
CHECK:     for i in range(6):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[j, i] = A[j, i] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
CHECK-NEXT:     return
"""
