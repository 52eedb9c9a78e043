# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.parallel: threads share a loop's steps."""

from relax_mlir.script import tir as T

rows = """
on matmul: C(i, j, k)
  sch.parallel(i)
CHECK-LABEL: def rows(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 0}):
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

grains = """
on matmul: C(i, j, k)
  sch.parallel(j)
CHECK-LABEL: def grains(
CHECK:     for i in range(4):
CHECK-NEXT:         with scf.for_(T.index(0), T.index(32), T.index(1), attrs={"tir.parallel": 0}):
CHECK-NEXT:             def bb0(arg0: T.index):
CHECK-NEXT:                 for j in range(8):
CHECK-NEXT:                     if j == 0:
CHECK-NEXT:                         C[i, arg0] = 0.0
CHECK-NEXT:                     v0 = A[i, j]
CHECK-NEXT:                     v1 = B[j, arg0]
CHECK-NEXT:                     v2 = C[i, arg0]
CHECK-NEXT:                     v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                     C[i, arg0] = v3
CHECK-NEXT:                 scf.yield_()
CHECK-NEXT:     return
"""

open_size = """
on symbolic_vector_squares: B(i)
  a, b = sch.split(i, [None, 4])
  sch.parallel(a)
CHECK-LABEL: def open_size(
CHECK:     v0 = A.shape[0]
CHECK-NEXT:     with scf.for_(0, arith.divui(v0 + 3, 4), 1, attrs={"tir.parallel": 0}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             for i in range(4):
CHECK-NEXT:                 v1 = arg0 * 4 + i
CHECK-NEXT:                 if v1 < v0:
CHECK-NEXT:                     v2 = A[v1]
CHECK-NEXT:                     B[v1] = v2 * v2
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""

memory_of_a_thread = """
# Memory for one step is a thread's own.
on squares_plus_one: B C(i, j)
  sch.parallel(i)
  sch.compute_at(B, i)
CHECK-LABEL: def memory_of_a_thread(
CHECK:     with scf.for_(T.index(0), T.index(8), T.index(1), attrs={"tir.parallel": 0}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:             for i in range(8):
CHECK-NEXT:                 v1 = A[arg0, i]
CHECK-NEXT:                 v0[0, i] = v1 * v1
CHECK-NEXT:             for i in range(8):
CHECK-NEXT:                 C[arg0, i] = v0[0, i] + 1.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""
