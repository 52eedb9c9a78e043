# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.loop_partition: one loop becomes several in sequence."""

from relax_mlir.script import tir as T

tail = """
on squares: B(i)
  main, rest = sch.loop_partition(i, [8, None])
  a, b = sch.split(main, [None, 4])
  sch.vectorize(b)
CHECK-LABEL: def tail(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = i * 4
CHECK-NEXT:         v1 = vector.load(A, v0, T.float32x4)
CHECK-NEXT:         vector.store(v1 * v1, B, v0)
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         v0 = i + 8
CHECK-NEXT:         v1 = A[v0]
CHECK-NEXT:         B[v0] = v1 * v1
CHECK-NEXT:     return
"""

reduction = """
# Only the first part initializes the sums.
on matmul: C(i, j, k)
  first, rest = sch.loop_partition(k, [1, None])
CHECK-LABEL: def reduction(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             C[i, j] = 0.0
CHECK-NEXT:             v0 = A[i, 0]
CHECK-NEXT:             v1 = B[0, j]
CHECK-NEXT:             v2 = C[i, j]
CHECK-NEXT:             v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:             C[i, j] = v3
CHECK-NEXT:             for k in range(7):
CHECK-NEXT:                 v4 = k + 1
CHECK-NEXT:                 v5 = A[i, v4]
CHECK-NEXT:                 v6 = B[v4, j]
CHECK-NEXT:                 v7 = C[i, j]
CHECK-NEXT:                 v8 = arith.addf(v7, arith.mulf(v5, v6, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v8
CHECK-NEXT:     return
"""

units_gone = """
on squares: B(i)
  one, rest = sch.loop_partition(i, [1, 9], preserve_unit_iters=False)
CHECK-LABEL: def units_gone(
CHECK:     v0 = A[0]
CHECK-NEXT:     B[0] = v0 * v0
CHECK-NEXT:     for i in range(9):
CHECK-NEXT:         v1 = i + 1
CHECK-NEXT:         v2 = A[v1]
CHECK-NEXT:         B[v1] = v2 * v2
CHECK-NEXT:     return
"""

the_rest = """
# The remainder is a further part. Blocks of further parts have TVM's names.
on squares: B(i)
  i_0, i_1, i_2 = sch.loop_partition(i, [2, 1])
  B_i2 = sch.get_block("B_i2")
  i_2, = sch.get_loops(B_i2)
  sch.unroll(i_2)
CHECK-LABEL: def the_rest(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = A[i]
CHECK-NEXT:         B[i] = v0 * v0
CHECK-NEXT:     v0 = A[2]
CHECK-NEXT:     B[2] = v0 * v0
CHECK-NEXT:     v1 = A[3]
CHECK-NEXT:     B[3] = v1 * v1
CHECK-NEXT:     v2 = A[4]
CHECK-NEXT:     B[4] = v2 * v2
CHECK-NEXT:     v3 = A[5]
CHECK-NEXT:     B[5] = v3 * v3
CHECK-NEXT:     v4 = A[6]
CHECK-NEXT:     B[6] = v4 * v4
CHECK-NEXT:     v5 = A[7]
CHECK-NEXT:     B[7] = v5 * v5
CHECK-NEXT:     v6 = A[8]
CHECK-NEXT:     B[8] = v6 * v6
CHECK-NEXT:     v7 = A[9]
CHECK-NEXT:     B[9] = v7 * v7
CHECK-NEXT:     return
"""
