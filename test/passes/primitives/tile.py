# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.tile: loops over tiles, and inside of tiles."""

from relax_mlir.script import tir as T

tiles = """
on matmul: C(i, j, k)
  a, b, c, d = sch.tile(i, j, 2, 16)
CHECK-LABEL: def tiles(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(16):
CHECK-NEXT:                     for i0 in range(8):
CHECK-NEXT:                         if i0 == 0:
CHECK-NEXT:                             C[i * 2 + k, j * 16 + l] = 0.0
CHECK-NEXT:                         v0 = i * 2 + k
CHECK-NEXT:                         v1 = A[v0, i0]
CHECK-NEXT:                         v2 = j * 16 + l
CHECK-NEXT:                         v3 = B[i0, v2]
CHECK-NEXT:                         v4 = C[v0, v2]
CHECK-NEXT:                         v5 = arith.addf(v4, arith.mulf(v1, v3, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                         C[v0, v2] = v5
CHECK-NEXT:     return
"""


@T.prim_func
def not_multiples(A: T.Buffer((5, 7), "float32"), B: T.Buffer((5, 7), "float32")):
    for i, j in T.grid(5, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]


not_multiples = """
# Partial tiles have only the existing elements.
on not_multiples: B(i, j)
  sch.tile(i, j, 2, 4)
CHECK-LABEL: def not_multiples(
CHECK:     for i in range(3):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(4):
CHECK-NEXT:                     v0 = i * 2 + k
CHECK-NEXT:                     v1 = v0 < 5
CHECK-NEXT:                     v2 = j * 4 + l
CHECK-NEXT:                     if v1 & (v2 < 7):
CHECK-NEXT:                         v3 = A[v0, v2]
CHECK-NEXT:                         B[v0, v2] = v3 * v3
CHECK-NEXT:     return
"""


@T.prim_func
def loop_between(A: T.Buffer((4, 3, 8), "float32"), B: T.Buffer((4, 3, 8), "float32")):
    for i, j, k in T.grid(4, 3, 8):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * A[vi, vj, vk]


loop_between = """
# A loop between them stays where it is.
on loop_between: B(i, j, k)
  sch.tile(i, k, 2, 4)
CHECK-LABEL: def loop_between(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(3):
CHECK-NEXT:                 for l in range(2):
CHECK-NEXT:                     for i0 in range(4):
CHECK-NEXT:                         v0 = i * 2 + l
CHECK-NEXT:                         v1 = j * 4 + i0
CHECK-NEXT:                         v2 = A[v0, k, v1]
CHECK-NEXT:                         B[v0, k, v1] = v2 * v2
CHECK-NEXT:     return
"""
