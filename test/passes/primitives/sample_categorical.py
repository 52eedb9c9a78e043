# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.sample_categorical: a choice of a number. The decision is its position; else the default is taken."""

from relax_mlir.script import tir as T

by_decision = """
on squares: B(i)
  v0 = sch.sample_categorical([2, 5], [0.5, 0.5], decision=1)
  a, b = sch.split(i, [None, v0])
CHECK-LABEL: def by_decision(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(5):
CHECK-NEXT:             v0 = i * 5 + j
CHECK-NEXT:             v1 = A[v0]
CHECK-NEXT:             B[v0] = v1 * v1
CHECK-NEXT:     return
"""

by_default = """
on squares: B(i)
  v0 = sch.sample_categorical([5, 2], default=2)
  a, b = sch.split(i, [None, v0])
CHECK-LABEL: def by_default(
CHECK:     for i in range(5):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             v0 = i * 2 + j
CHECK-NEXT:             v1 = A[v0]
CHECK-NEXT:             B[v0] = v1 * v1
CHECK-NEXT:     return
"""
