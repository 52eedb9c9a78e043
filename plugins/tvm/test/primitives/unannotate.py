# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.unannotate: a loop without its grain."""

from relax_mlir.script import tir as T

taken_off = """
on doubled: B(i, j)
  sch.parallel(i)
  sch.annotate(i, "grain", 2)
  sch.unannotate(i, "grain")
CHECK-LABEL: def taken_off(
CHECK:     with scf.for_(T.index(0), T.index(8), T.index(1), attrs={"tir.parallel": 0}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             for i in range(8):
CHECK-NEXT:                 B[arg0, i] = A[arg0, i] * 2.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""

others_stay = """
on doubled: B(i, j)
  sch.parallel(i)
  sch.annotate(i, "grain", 2)
  sch.annotate(i, "note", 3)
  sch.annotate(B, "note", 3)
  sch.unannotate(i, "note")
  sch.unannotate(B, "note")
CHECK-LABEL: def others_stay(
CHECK:     with scf.for_(T.index(0), T.index(8), T.index(1), attrs={"tir.parallel": 2}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             for i in range(8):
CHECK-NEXT:                 B[arg0, i] = A[arg0, i] * 2.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""
