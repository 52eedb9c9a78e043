# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.vectorize: a loop's steps are lanes."""

from relax_mlir.script import tir as T

lanes = """
on matmul: C(i, j, k)
  sch.reorder(k, j)
  sch.vectorize(j)
CHECK-LABEL: def lanes(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 vector.store(I.const(I.attr("dense<0.000000e+00> : vector<32xf32>")), C, i, 0)
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             v1 = vector.load(B, j, 0, T.float32x32)
CHECK-NEXT:             v2 = vector.load(C, i, 0, T.float32x32)
CHECK-NEXT:             v3 = arith.addf(v2, arith.mulf(vector.broadcast(v0, T.float32x32), v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:             vector.store(v3, C, i, 0)
CHECK-NEXT:     return
"""


@T.prim_func
def masked(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):
    for i in range(40):
        with T.block("B"):
            vi = T.axis.spatial(40, i)
            B[vi] = A[vi] * A[vi]


masked = """
on masked: B(i)
  i_0, i_1 = sch.split(i, [None, 16])
  sch.vectorize(i_1)
CHECK-LABEL: def masked(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = i * 16
CHECK-NEXT:         v1 = vector.load(A, v0, T.float32x16)
CHECK-NEXT:         vector.store(v1 * v1, B, v0)
CHECK-NEXT:     v0 = vector.constant_mask(T.boolx16, mask_dim_sizes=(8,))
CHECK-NEXT:     v1 = vector.maskedload(A, T.index(32), v0, I.const(I.attr("dense<0.000000e+00> : vector<16xf32>")))
CHECK-NEXT:     vector.maskedstore(B, T.index(32), v0, v1 * v1)
CHECK-NEXT:     return
"""

apart = """
on matmul: C(i, j, k)
  i_0, i_1 = sch.split(i, [2, 2])
  sch.vectorize(i_1)
CHECK-LABEL: def apart(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v0 = i * 2
CHECK-NEXT:                     C[v0, j] = 0.0
CHECK-NEXT:                     C[v0 + 1, j] = 0.0
CHECK-NEXT:                 v0 = i * 2
CHECK-NEXT:                 v1 = A[v0, k]
CHECK-NEXT:                 v2 = v0 + 1
CHECK-NEXT:                 v3 = vector.from_elements(v1, A[v2, k], T.float32x2)
CHECK-NEXT:                 v4 = B[k, j]
CHECK-NEXT:                 v5 = vector.from_elements(C[v0, j], C[v2, j], T.float32x2)
CHECK-NEXT:                 v6 = arith.addf(v5, arith.mulf(v3, vector.broadcast(v4, T.float32x2), fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[v0, j] = vector.extract(v6, T.float32, static_position=(0,))
CHECK-NEXT:                 C[v2, j] = vector.extract(v6, T.float32, static_position=(1,))
CHECK-NEXT:     return
"""


@T.prim_func
def columns(A: T.Buffer((4, 2), "float32"), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * A[vj, vi]


columns = """
# Elements that are not contiguous are read one by one.
on columns: B(i, j)
  sch.vectorize(j)
CHECK-LABEL: def columns(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = vector.from_elements(A[0, i], A[1, i], A[2, i], A[3, i], T.float32x4)
CHECK-NEXT:         vector.store(v0 * v0, B, i, 0)
CHECK-NEXT:     return
"""


@T.prim_func
def masked_columns(A: T.Buffer((3, 2), "float32"), B: T.Buffer((2, 3), "float32")):
    for i, j in T.grid(2, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * A[vj, vi]


masked_columns = """
# One by one where there are.
on masked_columns: B(i, j)
  a, b = sch.split(j, [None, 2])
  sch.vectorize(b)
CHECK-LABEL: def masked_columns(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = vector.from_elements(A[0, i], A[1, i], T.float32x2)
CHECK-NEXT:         vector.store(v0 * v0, B, i, 0)
CHECK-NEXT:         v1 = vector.constant_mask(T.boolx2, mask_dim_sizes=(1,))
CHECK-NEXT:         v2 = vector.from_elements(A[2, i], 0.0, T.float32x2)
CHECK-NEXT:         vector.maskedstore(B, i, T.index(2), v1, v2 * v2)
CHECK-NEXT:     return
"""


@T.prim_func
def written_in_columns(A: T.Buffer((2, 3), "float32"), B: T.Buffer((3, 2), "float32")):
    for i, j in T.grid(3, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * A[vj, vi]


written_in_columns = """
# Written one by one.
on written_in_columns: B(i, j)
  a, b = sch.split(i, [None, 2])
  sch.reorder(a, j, b)
  sch.vectorize(b)
CHECK-LABEL: def written_in_columns(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = vector.load(A, i, 0, T.float32x2)
CHECK-NEXT:         v1 = v0 * v0
CHECK-NEXT:         B[0, i] = vector.extract(v1, T.float32, static_position=(0,))
CHECK-NEXT:         B[1, i] = vector.extract(v1, T.float32, static_position=(1,))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         v0 = vector.maskedload(A, i, T.index(2), vector.constant_mask(T.boolx2, mask_dim_sizes=(1,)), I.const(I.attr("dense<0.000000e+00> : vector<2xf32>")))
CHECK-NEXT:         B[2, i] = vector.extract(v0 * v0, T.float32, static_position=(0,))
CHECK-NEXT:     return
"""


@T.prim_func
def indices(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.Cast("float32", vi)


indices = """
# An index has a value in each lane.
on indices: B(i)
  sch.vectorize(i)
CHECK-LABEL: def indices(
CHECK:     v0 = I.const(I.attr("dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00]> : vector<4xf32>"))
CHECK-NEXT:     vector.store(vector.load(A, T.index(0), T.float32x4) * v0, B, T.index(0))
CHECK-NEXT:     return
"""


@T.prim_func
def rows_at_computed_places(A: T.Buffer((8, 4), "float32"), I: T.Buffer((2,), "int64"), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[T.max(I[vi], T.int64(0)), vj] * T.float32(2)


rows_at_computed_places = """
# A row at a place that is computed is a vector.
on rows_at_computed_places: B(i, j)
  sch.vectorize(j)
CHECK-LABEL: def rows_at_computed_places(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = arith.index_cast(arith.maxsi(arith.minsi(arith.maxsi(I_1[i], 0), 7), 0), T.index)
CHECK-NEXT:         vector.store(vector.load(A, v0, 0, T.float32x4) * 2.0, B, i, 0)
CHECK-NEXT:     return
"""


@T.prim_func
def elements_at_computed_places(A: T.Buffer((8,), "float32"), I: T.Buffer((2,), "int64"), B: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            B[vi] = A[T.max(I[vi], T.int64(0))] * T.float32(2)


elements_at_computed_places = """
# Elements at places that are computed are not: lanes run one after the other.
on elements_at_computed_places: B(i)
  sch.vectorize(i)
CHECK-LABEL: def elements_at_computed_places(
CHECK:     v0 = arith.index_cast(arith.maxsi(arith.minsi(arith.maxsi(I_1[0], 0), 7), 0), T.index)
CHECK-NEXT:     B[0] = A[v0] * 2.0
CHECK-NEXT:     v1 = arith.index_cast(arith.maxsi(arith.minsi(arith.maxsi(I_1[1], 0), 7), 0), T.index)
CHECK-NEXT:     B[1] = A[v1] * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def every_second(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi * 2] + A[vi]


every_second = """
on every_second: B(i)
  sch.vectorize(i)
CHECK-LABEL: def every_second(
CHECK:     v0 = vector.from_elements(A[0], A[2], A[4], A[6], T.float32x4) + vector.load(A, T.index(0), T.float32x4)
CHECK-NEXT:     vector.store(v0, B, T.index(0))
CHECK-NEXT:     return
"""


@T.prim_func
def quotients(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")):
    for i in range(5):
        with T.block("B"):
            vi = T.axis.spatial(5, i)
            B[vi] = T.truncdiv(A[vi], A[vi])


quotients = """
# Operations that may trap in inactive lanes run one after the other.
on quotients: B(i)
  a, b = sch.split(i, [None, 2])
  sch.vectorize(b)
CHECK-LABEL: def quotients(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = i * 2
CHECK-NEXT:         v1 = A[v0]
CHECK-NEXT:         v2 = v1 == 0
CHECK-NEXT:         v3 = arith.select((v1 == -2147483648) & (v1 == -1), 1, arith.select(v2, 1, v1))
CHECK-NEXT:         B[v0] = arith.select(v2, 0, arith.divsi(v1, v3))
CHECK-NEXT:         v4 = v0 + 1
CHECK-NEXT:         v5 = A[v4]
CHECK-NEXT:         v6 = v5 == 0
CHECK-NEXT:         v7 = arith.select((v5 == -2147483648) & (v5 == -1), 1, arith.select(v6, 1, v5))
CHECK-NEXT:         B[v4] = arith.select(v6, 0, arith.divsi(v5, v7))
CHECK-NEXT:     v0 = A[4]
CHECK-NEXT:     v1 = v0 == 0
CHECK-NEXT:     v2 = arith.select((v0 == -2147483648) & (v0 == -1), 1, arith.select(v1, 1, v0))
CHECK-NEXT:     B[4] = arith.select(v1, 0, arith.divsi(v0, v2))
CHECK-NEXT:     return
"""


@T.prim_func
def in_what_stands(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi, 0] * A[vi, 0]
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi] + A[vi, vj]


in_what_stands = """
# A value that is equal for all lanes is computed once.
on in_what_stands: B C(i, j)
  sch.vectorize(j)
  sch.compute_at(B, i)
CHECK-LABEL: def in_what_stands(
CHECK:     v0 = memref.alloca(T.Buffer((1,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v1 = A[i, 0]
CHECK-NEXT:         v0[0] = v1 * v1
CHECK-NEXT:         v2 = v0[0]
CHECK-NEXT:         v3 = vector.load(A, i, 0, T.float32x4)
CHECK-NEXT:         vector.store(vector.broadcast(v2, T.float32x4) + v3, C, i, 0)
CHECK-NEXT:     return
"""

for_lanes = """
# Each lane has an element of its own in memory that is for one step.
on squares_plus_one_4_by_4: B C(i, j)
  sch.vectorize(j)
  sch.compute_at(B, j)
CHECK-LABEL: def for_lanes(
CHECK:     v0 = memref.alloca(T.Buffer((1, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v1 = vector.load(A, i, 0, T.float32x4)
CHECK-NEXT:         vector.store(v1 * v1, v0, T.index(0), T.index(0))
CHECK-NEXT:         vector.store(vector.load(v0, T.index(0), T.index(0), T.float32x4) + 1.0, C, i, 0)
CHECK-NEXT:     return
"""


@T.prim_func
def one_lane(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            B[vi] = A[vi] * A[vi]


one_lane = """
on one_lane: B(i)
  a, b = sch.split(i, [2, 1])
  sch.vectorize(b)
CHECK-LABEL: def one_lane(
CHECK:     for i in range(2):
CHECK-NEXT:         v0 = A[i]
CHECK-NEXT:         B[i] = v0 * v0
CHECK-NEXT:     return
"""


@T.prim_func
def places_that_move(A: T.Buffer((8, 2), "float32"), I: T.Buffer((2,), "int64"), B: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            B[vi] = A[T.max(I[vi], T.int64(0)), vi] * T.float32(2)


places_that_move = """
# Where rows are others from lane to lane, lanes run one after the other.
on places_that_move: B(i)
  sch.vectorize(i)
CHECK-LABEL: def places_that_move(
CHECK:     v0 = arith.index_cast(arith.maxsi(arith.minsi(arith.maxsi(I_1[0], 0), 7), 0), T.index)
CHECK-NEXT:     B[0] = A[v0, 0] * 2.0
CHECK-NEXT:     v1 = arith.index_cast(arith.maxsi(arith.minsi(arith.maxsi(I_1[1], 0), 7), 0), T.index)
CHECK-NEXT:     B[1] = A[v1, 1] * 2.0
CHECK-NEXT:     return
"""
