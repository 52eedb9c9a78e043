# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.fuse: nested loops become one."""

from relax_mlir.script import tir as T

two = """
on matmul: C(i, j, k)
  i_j_fused = sch.fuse(i, j)
CHECK-LABEL: def two(
CHECK:     v0 = memref.collapse_shape(C, T.Buffer((128,), "float32"), reassociation=[[0, 1]])
CHECK-NEXT:     for i in range(128):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 v0[i] = 0.0
CHECK-NEXT:             v1 = A[arith.divui(i, 32), j]
CHECK-NEXT:             v2 = B[j, arith.remui(i, 32)]
CHECK-NEXT:             v3 = v0[i]
CHECK-NEXT:             v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:             v0[i] = v4
CHECK-NEXT:     return
"""

dynamic = """
on symbolic_squares: B(i, j)
  i_j_fused = sch.fuse(i, j)
CHECK-LABEL: def dynamic(
CHECK:     v0 = memref.collapse_shape(A, T.Buffer(("?",), "float32"), reassociation=[[0, 1]])
CHECK-NEXT:     v1 = memref.collapse_shape(B, T.Buffer(("?",), "float32"), reassociation=[[0, 1]])
CHECK-NEXT:     for i in range(A.shape[0] * 8):
CHECK-NEXT:         v2 = v0[i]
CHECK-NEXT:         v1[i] = v2 * v2
CHECK-NEXT:     return
"""

three = """
on squares_2_by_3_by_4: B(i, j, k)
  f = sch.fuse(i, j, k)
CHECK-LABEL: def three(
CHECK:     v0 = memref.collapse_shape(A, T.Buffer((24,), "float32"), reassociation=[[0, 1, 2]])
CHECK-NEXT:     v1 = memref.collapse_shape(B, T.Buffer((24,), "float32"), reassociation=[[0, 1, 2]])
CHECK-NEXT:     for i in range(24):
CHECK-NEXT:         v2 = v0[i]
CHECK-NEXT:         v1[i] = v2 * v2
CHECK-NEXT:     return
"""

one = """
on squares_of_8: B(i)
  f = sch.fuse(i)
CHECK-LABEL: def one(
CHECK:     for i in range(8):
CHECK-NEXT:         v0 = A[i]
CHECK-NEXT:         B[i] = v0 * v0
CHECK-NEXT:     return
"""

what_was_split = """
# Guards stay.
on squares: B(i)
  a, b = sch.split(i, [None, 4])
  f = sch.fuse(a, b)
CHECK-LABEL: def what_was_split(
CHECK:     for i in range(12):
CHECK-NEXT:         v0 = arith.remui(i, 4) + arith.divui(i, 4) * 4
CHECK-NEXT:         if v0 < 10:
CHECK-NEXT:             v1 = A[v0]
CHECK-NEXT:             B[v0] = v1 * v1
CHECK-NEXT:     return
"""
