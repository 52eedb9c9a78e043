# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.compute_at: a block computes the elements that one step needs, in a buffer of that size."""

from relax_mlir.script import tir as T

rows = """
on squares_plus_one: B C(i_1, j_1)
  sch.compute_at(B, i_1)
CHECK-LABEL: def rows(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[0, j] = v1 * v1
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""

halo = """
on three_doubled_rows: B C(i_1, j_1)
  o, n = sch.split(i_1, [None, 4])
  sch.compute_at(B, o)
CHECK-LABEL: def halo(
CHECK:     v0 = memref.alloca(T.Buffer((6, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 v0[j, k] = A[j + i * 4, k] * 2.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 v1 = v0[j, k]
CHECK-NEXT:                 v2 = v0[j + 1, k]
CHECK-NEXT:                 v3 = v0[j + 2, k]
CHECK-NEXT:                 C[i * 4 + j, k] = v1 + v2 + v3
CHECK-NEXT:     return
"""

unit_loops = """
# A loop of one step for each iter that the step fixes.
on squares_plus_one: B C(i, j)
  sch.compute_at(B, i, preserve_unit_loops=True)
  i, ax0, ax1 = sch.get_loops(B)
  sch.parallel(ax0)
CHECK-LABEL: def unit_loops(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[0, j] = v1 * v1
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def two_producers(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    X = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj] + T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + X[vi, vj]


at_an_index = """
# Before the other blocks there.
on two_producers: B X C(i, j)
  sch.compute_at(X, i)
  sch.compute_at(B, i, index=0)
CHECK-LABEL: def at_an_index(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v1[0, j] = v2 * v2
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0[0, j] = A[i, j] + 2.0
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v1[0, j] + v0[0, j]
CHECK-NEXT:     return
"""

before_its_reader = """
on two_producers: B X C(i, j)
  sch.compute_at(X, i)
  sch.compute_at(B, i)
CHECK-LABEL: def before_its_reader(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0[0, j] = A[i, j] + 2.0
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v1[0, j] = v2 * v2
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v1[0, j] + v0[0, j]
CHECK-NEXT:     return
"""


@T.prim_func
def a_sum(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * T.float32(2)


a_sum = """
# A reduction, whole at each step.
on a_sum: B C(i)
  sch.compute_at(B, i)
CHECK-LABEL: def a_sum(
CHECK:     v0 = memref.alloca(T.Buffer((1,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 v0[0] = 0.0
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v2 = v0[0]
CHECK-NEXT:             v0[0] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:         C[i] = v0[0] * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def guarded(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.alloc_buffer((10,), "float32")
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]
    for i in range(10):
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = B[vi] + T.float32(1)


guarded = """
# Beyond the end nothing is made.
on guarded: B C(i)
  a, b = sch.split(i, [None, 4])
  sch.compute_at(B, a)
CHECK-LABEL: def guarded(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = j + i * 4
CHECK-NEXT:             if v1 < 10:
CHECK-NEXT:                 v2 = A[v1]
CHECK-NEXT:                 v0[j] = v2 * v2
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = i * 4 + j
CHECK-NEXT:             if v1 < 10:
CHECK-NEXT:                 C[v1] = v0[j] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def in_parts_of_open_size(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (8, n), "float32")
    C = T.match_buffer(c, (8, n), "float32")
    B = T.alloc_buffer((8, n), "float32")
    for i, j in T.grid(8, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


in_parts_of_open_size = """
# Where it is unknown how far parts go, all of a row is made.
on in_parts_of_open_size: B C(i, j)
  j_0, j_1 = sch.split(j, [4, None])
  sch.compute_at(B, i)
CHECK-LABEL: def in_parts_of_open_size(
CHECK:     for i in range(8):
CHECK-NEXT:         v0 = A.shape[1]
CHECK-NEXT:         v1 = memref.alloc(v0, T.Buffer((1, "?"), "float32"), alignment=64, segments=(1, 0))
CHECK-NEXT:         for j in range(v0):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v1[0, j] = v2 * v2
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v2 = arith.divui(v0 + 3, 4)
CHECK-NEXT:             for k in range(v2):
CHECK-NEXT:                 v3 = k + v2 * j
CHECK-NEXT:                 if v3 < v0:
CHECK-NEXT:                     C[i, v3] = v1[0, v3] + 1.0
CHECK-NEXT:         memref.dealloc(v1)
CHECK-NEXT:     return
"""

at_computed_places = """
# Of places that are computed all is needed along the dimensions where they are.
on picked_rows: B C(i, j)
  j_0, j_1 = sch.split(j, [None, 2])
  sch.reorder(j_0, i, j_1)
  sch.vectorize(j_1)
  sch.compute_at(B, j_0)
CHECK-LABEL: def at_computed_places(
CHECK:     v0 = memref.alloca(T.Buffer((8, 2), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 v0[j, k] = A[j, k + i * 2] * 2.0
CHECK-NEXT:         for j in range(5):
CHECK-NEXT:             v1 = vector.load(v0, arith.index_cast(arith.maxsi(arith.minsi(I_1[j], 7), 0), T.index), 0, T.float32x2)
CHECK-NEXT:             vector.store(v1, C, j, i * 2)
CHECK-NEXT:     return
"""


@T.prim_func
def of_another_layout(A: T.Buffer((12,), "float32"), C: T.Buffer((12,), "float32")):
    B = T.alloc_buffer((12,), "float32")
    for i in range(12):
        with T.block("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = B[vi] + T.float32(1)


of_another_layout = """
# By the quotient and the remainder that a layout has made of an index.
on of_another_layout: B C
  sch.transform_layout(B, 0, lambda i: (i // 4, i % 4))
  i, = sch.get_loops(C)
  i_0, i_1 = sch.split(i, [None, 4])
  sch.compute_at(B, i_0)
CHECK-LABEL: def of_another_layout(
CHECK:     v0 = memref.alloca(T.Buffer((1, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[0, j] = A[j + i * 4] * 2.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i * 4 + j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""
