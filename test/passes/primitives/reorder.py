# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.reorder: the order of nested loops. Operations between them stay."""

from relax_mlir.script import tir as T

all_loops = """
on matmul: C(i, j, k)
  sch.reorder(k, i, j)
CHECK-LABEL: def all_loops(
CHECK:     for i in range(8):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             for k in range(32):
CHECK-NEXT:                 if i == 0:
CHECK-NEXT:                     C[j, k] = 0.0
CHECK-NEXT:                 v0 = A[j, i]
CHECK-NEXT:                 v1 = B[i, k]
CHECK-NEXT:                 v2 = C[j, k]
CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[j, k] = v3
CHECK-NEXT:     return
"""

outer_and_inner = """
on matmul: C(i, j, k)
  sch.reorder(k, i)
CHECK-LABEL: def outer_and_inner(
CHECK:     for i in range(8):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 if i == 0:
CHECK-NEXT:                     C[k, j] = 0.0
CHECK-NEXT:                 v0 = A[k, i]
CHECK-NEXT:                 v1 = B[i, j]
CHECK-NEXT:                 v2 = C[k, j]
CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[k, j] = v3
CHECK-NEXT:     return
"""


@T.prim_func
def one(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]


one = """
# One loop is in order.
on one: B(i, j)
  sch.reorder(j)
CHECK-LABEL: def one(
CHECK:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             B[i, j] = v0 * v0
CHECK-NEXT:     return
"""

between = """
# The loop between stays where it is.
on squares_2_by_3_by_4: B(i, j, k)
  sch.reorder(k, i)
CHECK-LABEL: def between(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(3):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 v0 = A[k, j, i]
CHECK-NEXT:                 B[k, j, i] = v0 * v0
CHECK-NEXT:     return
"""

around_two_blocks = """
# One step makes all that it needs, in whatever order they run.
on squares_plus_one: B C(i, j)
  i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)
  sch.compute_at(B, j_0)
  sch.reorder(j_0, i_0)
CHECK-LABEL: def around_two_blocks(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 for l in range(4):
CHECK-NEXT:                     v1 = A[k + j * 4, l + i * 4]
CHECK-NEXT:                     v0[k, l] = v1 * v1
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 for l in range(4):
CHECK-NEXT:                     C[j * 4 + k, i * 4 + l] = v0[k, l] + 1.0
CHECK-NEXT:     return
"""
