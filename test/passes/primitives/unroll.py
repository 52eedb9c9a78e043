# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.unroll: each step of a loop is code."""

from relax_mlir.script import tir as T

steps = """
on squares_of_8: B(i)
  i_0, i_1 = sch.split(i, [None, 3])
  sch.unroll(i_1)
CHECK-LABEL: def steps(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = i * 3
CHECK-NEXT:         v1 = A[v0]
CHECK-NEXT:         B[v0] = v1 * v1
CHECK-NEXT:         v2 = v0 + 1
CHECK-NEXT:         v3 = A[v2]
CHECK-NEXT:         B[v2] = v3 * v3
CHECK-NEXT:         v4 = v0 + 2
CHECK-NEXT:         v5 = A[v4]
CHECK-NEXT:         B[v4] = v5 * v5
CHECK-NEXT:     v0 = A[6]
CHECK-NEXT:     B[6] = v0 * v0
CHECK-NEXT:     v1 = A[7]
CHECK-NEXT:     B[7] = v1 * v1
CHECK-NEXT:     return
"""


@T.prim_func
def nested(A: T.Buffer((2, 2), "float32"), B: T.Buffer((2, 2), "float32")):
    for i, j in T.grid(2, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]


nested = """
on nested: B(i, j)
  sch.unroll(j)
  sch.unroll(i)
CHECK-LABEL: def nested(
CHECK:     v0 = A[0, 0]
CHECK-NEXT:     B[0, 0] = v0 * v0
CHECK-NEXT:     v1 = A[0, 1]
CHECK-NEXT:     B[0, 1] = v1 * v1
CHECK-NEXT:     v2 = A[1, 0]
CHECK-NEXT:     B[1, 0] = v2 * v2
CHECK-NEXT:     v3 = A[1, 1]
CHECK-NEXT:     B[1, 1] = v3 * v3
CHECK-NEXT:     return
"""


@T.prim_func
def beyond_the_end(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = A[vi] * A[vi]


beyond_the_end = """
# Steps known to be beyond the end have no code.
on beyond_the_end: B(i)
  a, b = sch.split(i, [None, 2])
  sch.unroll(a)
  sch.unroll(b)
CHECK-LABEL: def beyond_the_end(
CHECK:     v0 = A[0]
CHECK-NEXT:     B[0] = v0 * v0
CHECK-NEXT:     v1 = A[1]
CHECK-NEXT:     B[1] = v1 * v1
CHECK-NEXT:     v2 = A[2]
CHECK-NEXT:     B[2] = v2 * v2
CHECK-NEXT:     v3 = A[3]
CHECK-NEXT:     B[3] = v3 * v3
CHECK-NEXT:     v4 = A[4]
CHECK-NEXT:     B[4] = v4 * v4
CHECK-NEXT:     return
"""


@T.prim_func
def a_reduction(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 2):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


a_reduction = """
# The first step starts the sum.
on a_reduction: B(i, k)
  sch.unroll(k)
CHECK-LABEL: def a_reduction(
CHECK:     for i in range(4):
CHECK-NEXT:         B[i] = 0.0
CHECK-NEXT:         v0 = A[i, 0]
CHECK-NEXT:         v1 = B[i]
CHECK-NEXT:         B[i] = arith.addf(v1, v0, fastmath="contract")
CHECK-NEXT:         v2 = A[i, 1]
CHECK-NEXT:         v3 = B[i]
CHECK-NEXT:         B[i] = arith.addf(v3, v2, fastmath="contract")
CHECK-NEXT:     return
"""
