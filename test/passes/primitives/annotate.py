# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.annotate: the grain of a parallel loop."""

from relax_mlir.script import tir as T

grain = """
on matmul: C(i, j, k)
  sch.parallel(i)
  sch.annotate(i, "grain", 2)
CHECK-LABEL: def grain(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 2}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             for i in range(32):
CHECK-NEXT:                 for j in range(8):
CHECK-NEXT:                     if j == 0:
CHECK-NEXT:                         C[arg0, i] = 0.0
CHECK-NEXT:                     v0 = A[arg0, j]
CHECK-NEXT:                     v1 = B[j, i]
CHECK-NEXT:                     v2 = C[arg0, i]
CHECK-NEXT:                     v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                     C[arg0, i] = v3
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""


@T.prim_func
def other_notes(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]


other_notes = """
# An unknown note changes nothing. A grain belongs to a parallel loop.
on other_notes: B(i, j)
  sch.annotate(B, "note", "of a block")
  sch.annotate(i, "grain", 2)
  sch.annotate(j, "note", [1, 2.5, True, None])
CHECK-LABEL: def other_notes(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             B[i, j] = v0 * v0
CHECK-NEXT:     return
"""
