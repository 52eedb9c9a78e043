# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.decompose_reduction: the initialization of a reduction in loops of its own."""

from relax_mlir.script import tir as T

before_the_reduction = """
on matmul: C(i, j, k)
  C_init = sch.decompose_reduction(C, k)
CHECK-LABEL: def before_the_reduction(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             C[i, j] = 0.0
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 v0 = A[i, k]
CHECK-NEXT:                 v1 = B[k, j]
CHECK-NEXT:                 v2 = C[i, j]
CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v3
CHECK-NEXT:     return
"""

before_all = """
on matmul: C(i, j, k)
  sch.reorder(k, i, j)
  C_init = sch.decompose_reduction(C, k)
CHECK-LABEL: def before_all(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             C[i, j] = 0.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             for k in range(32):
CHECK-NEXT:                 v0 = A[j, i]
CHECK-NEXT:                 v1 = B[i, k]
CHECK-NEXT:                 v2 = C[j, k]
CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[j, k] = v3
CHECK-NEXT:     return
"""


@T.prim_func
def of_what_is_left(A: T.Buffer((10, 4), "float32"), B: T.Buffer((10,), "float32")):
    for i, k in T.grid(10, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


of_what_is_left = """
# The init is as its loops are: lanes, and none beyond the end.
on of_what_is_left: B(i, k)
  a, b = sch.split(i, [None, 4])
  sch.reorder(a, k, b)
  sch.vectorize(b)
  init = sch.decompose_reduction(B, k)
CHECK-LABEL: def of_what_is_left(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = i * 4
CHECK-NEXT:         vector.store(I.const(I.attr("dense<0.000000e+00> : vector<4xf32>")), B, v0)
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = vector.from_elements(A[v0, j], A[v0 + 1, j], A[v0 + 2, j], A[v0 + 3, j], T.float32x4)
CHECK-NEXT:             vector.store(arith.addf(vector.load(B, v0, T.float32x4), v1, fastmath="contract"), B, v0)
CHECK-NEXT:     v0 = vector.constant_mask(T.boolx4, mask_dim_sizes=(2,))
CHECK-NEXT:     vector.maskedstore(B, T.index(8), v0, I.const(I.attr("dense<0.000000e+00> : vector<4xf32>")))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v1 = vector.from_elements(A[8, i], A[9, i], 0.0, 0.0, T.float32x4)
CHECK-NEXT:         v2 = vector.maskedload(B, T.index(8), v0, I.const(I.attr("dense<0.000000e+00> : vector<4xf32>")))
CHECK-NEXT:         vector.maskedstore(B, T.index(8), v0, arith.addf(v2, v1, fastmath="contract"))
CHECK-NEXT:     return
"""


@T.prim_func
def of_split_reductions(A: T.Buffer((4, 10), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 10):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


of_split_reductions = """
# It does not ask where the reduction ends.
on of_split_reductions: B(i, k)
  a, b = sch.split(k, [None, 4])
  init = sch.decompose_reduction(B, i)
CHECK-LABEL: def of_split_reductions(
CHECK:     for i in range(4):
CHECK-NEXT:         B[i] = 0.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(3):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 v0 = j * 4 + k
CHECK-NEXT:                 if v0 < 10:
CHECK-NEXT:                     v1 = A[i, v0]
CHECK-NEXT:                     v2 = B[i]
CHECK-NEXT:                     B[i] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     return
"""
