# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.set_axis_separator: a note on a buffer without an effect."""

from relax_mlir.script import tir as T

noted = """
on doubled_plus_one: B
  sch.set_axis_separator(B, ("write", 0), [1])
CHECK-LABEL: def noted(
CHECK:     v0 = memref.alloca(T.Buffer((8, 12), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v0[i, j] = A[i, j] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""
