# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.sample_compute_location: a random loop to which a block can move. The decision is its position."""

from relax_mlir.script import tir as T

by_decision = """
on plus_one_doubled: C
  i = sch.sample_compute_location(C, decision=0)
  sch.compute_at(C, i)
CHECK-LABEL: def by_decision(
CHECK:     v0 = memref.alloca(T.Buffer((1, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[0, j] = A[i, j] + 1.0
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             D[i, j] = v0[0, j] * 2.0
CHECK-NEXT:     return
"""
