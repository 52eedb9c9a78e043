# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.rfactor: a reduction in parts, here in lanes."""

from relax_mlir.script import tir as T


@T.prim_func
def lanes(A: T.Buffer((4, 24), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 24):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


lanes = """
on lanes: B(i, k)
  k_0, k_1 = sch.split(k, [None, 8])
  sch.reorder(i, k_0, k_1)
  B_rf = sch.rfactor(k_1, 1)
  a, b, c = sch.get_loops(B_rf)
  sch.vectorize(c)
CHECK-LABEL: def lanes(
CHECK:     v0 = memref.alloca(T.Buffer((4, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(3):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 vector.store(I.const(I.attr("dense<0.000000e+00> : vector<8xf32>")), v0, i, 0)
CHECK-NEXT:             v1 = vector.load(A, i, j * 8, T.float32x8)
CHECK-NEXT:             v2 = vector.load(v0, i, 0, T.float32x8)
CHECK-NEXT:             vector.store(arith.addf(v2, v1, fastmath="contract"), v0, i, 0)
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 B[i] = 0.0
CHECK-NEXT:             v1 = v0[i, j]
CHECK-NEXT:             v2 = B[i]
CHECK-NEXT:             B[i] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     return
"""


@T.prim_func
def row_sums(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


first = """
# Parts along the first dimension.
on row_sums: B(i, k)
  B_rf = sch.rfactor(k, 0)
CHECK-LABEL: def first(
CHECK:     v0 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[j, i] = 0.0
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v2 = v0[j, i]
CHECK-NEXT:             v0[j, i] = v2 + v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 B[i] = 0.0
CHECK-NEXT:             v1 = v0[j, i]
CHECK-NEXT:             v2 = B[i]
CHECK-NEXT:             B[i] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     return
"""

last = """
# Counted from the end.
on row_sums: B(i, k)
  B_rf = sch.rfactor(k, -1)
CHECK-LABEL: def last(
CHECK:     v0 = memref.alloca(T.Buffer((4, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[i, j] = 0.0
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v2 = v0[i, j]
CHECK-NEXT:             v0[i, j] = v2 + v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 B[i] = 0.0
CHECK-NEXT:             v1 = v0[i, j]
CHECK-NEXT:             v2 = B[i]
CHECK-NEXT:             B[i] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     return
"""


@T.prim_func
def of_all(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.min_value("float32")
            B[vi] = T.max(A[vi, vk], B[vi])


of_all = """
# The largest of each part, and of them.
on of_all: B(i, k)
  a, b = sch.split(k, [2, 3])
  B_rf = sch.rfactor(a, -2)
CHECK-LABEL: def of_all(
CHECK:     v0 = memref.alloca(T.Buffer((2, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(3):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v0[j, i] = -3.4028235e+38
CHECK-NEXT:                 v0[j, i] = arith.maximumf(A[i, j * 3 + k], v0[j, i])
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 B[i] = -3.4028235e+38
CHECK-NEXT:             B[i] = arith.maximumf(v0[j, i], B[i])
CHECK-NEXT:     return
"""


@T.prim_func
def sums(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
                C[vi] = T.float32(1)
            B[vi] = B[vi] + A[vi, vk]
            C[vi] = C[vi] * A[vi, vk]


sums = """
# Several outputs, each by itself.
on sums: B(i, k)
  B_rf = sch.rfactor(k, 0)
CHECK-LABEL: def sums(
CHECK:     v0 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v1[j, i] = 0.0
CHECK-NEXT:             v0[j, i] = 1.0
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v3 = v1[j, i]
CHECK-NEXT:             v4 = v0[j, i]
CHECK-NEXT:             v5 = v3 + v2
CHECK-NEXT:             v6 = v4 * v2
CHECK-NEXT:             v1[j, i] = v5
CHECK-NEXT:             v0[j, i] = v6
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 B[i] = 0.0
CHECK-NEXT:                 C[i] = 1.0
CHECK-NEXT:             v2 = v1[j, i]
CHECK-NEXT:             v3 = v0[j, i]
CHECK-NEXT:             v4 = B[i]
CHECK-NEXT:             v5 = C[i]
CHECK-NEXT:             v6 = arith.addf(v4, v2, fastmath="contract")
CHECK-NEXT:             v7 = arith.mulf(v5, v3, fastmath="contract")
CHECK-NEXT:             B[i] = v6
CHECK-NEXT:             C[i] = v7
CHECK-NEXT:     return
"""


@T.prim_func
def argmax(
    N: T.Buffer((4, 6), "int32"),
    A: T.Buffer((4, 6), "float32"),
    I: T.Buffer((4,), "int32"),
    V: T.Buffer((4,), "float32"),
):
    for i, k in T.grid(4, 6):
        with T.block("I"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                V[vi] = T.min_value("float32")
            index: T.int32 = T.Select(V[vi] >= A[vi, vk], I[vi], N[vi, vk])
            value: T.float32 = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
            I[vi] = index
            V[vi] = value


argmax = """
# The largest one and where it is: parts are chosen among as elements are.
on argmax: I(i, k)
  k_0, k_1 = sch.split(k, [2, 3])
  I_rf = sch.rfactor(k_0, 1)
CHECK-LABEL: def argmax(
CHECK:     v0 = memref.alloca(T.Buffer((4, 2), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4, 2), "int32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(3):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v1[i, j] = -1
CHECK-NEXT:                     v0[i, j] = -3.4028235e+38
CHECK-NEXT:                 v2 = j * 3 + k
CHECK-NEXT:                 v3 = A[i, v2]
CHECK-NEXT:                 v4 = N[i, v2]
CHECK-NEXT:                 v5 = v1[i, j]
CHECK-NEXT:                 v6 = v0[i, j]
CHECK-NEXT:                 v7 = v6 >= v3
CHECK-NEXT:                 v8 = arith.select(v7, v5, v4)
CHECK-NEXT:                 v9 = arith.select(v7, v6, v3)
CHECK-NEXT:                 v1[i, j] = v8
CHECK-NEXT:                 v0[i, j] = v9
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 I_1[i] = -1
CHECK-NEXT:                 V[i] = -3.4028235e+38
CHECK-NEXT:             v2 = v1[i, j]
CHECK-NEXT:             v3 = v0[i, j]
CHECK-NEXT:             v4 = I_1[i]
CHECK-NEXT:             v5 = V[i]
CHECK-NEXT:             v6 = v5 >= v3
CHECK-NEXT:             v7 = arith.select(v6, v4, v2)
CHECK-NEXT:             v8 = arith.select(v6, v5, v3)
CHECK-NEXT:             I_1[i] = v7
CHECK-NEXT:             V[i] = v8
CHECK-NEXT:     return
"""


@T.prim_func
def of_sums(A: T.Buffer((4, 6), "float32"), D: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk] + D[vi]


of_sums = """
# A step may add a sum.
on of_sums: B(i, k)
  B_rf = sch.rfactor(k, 0)
CHECK-LABEL: def of_sums(
CHECK:     v0 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[j, i] = 0.0
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v2 = D[i]
CHECK-NEXT:             v3 = v0[j, i]
CHECK-NEXT:             v0[j, i] = v3 + v1 + v2
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 B[i] = 0.0
CHECK-NEXT:             v1 = v0[j, i]
CHECK-NEXT:             v2 = B[i]
CHECK-NEXT:             B[i] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     return
"""
