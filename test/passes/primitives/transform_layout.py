# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.transform_layout: a buffer's layout."""

from relax_mlir.script import tir as T

blocked = """
on squares_plus_one: B C(i_1, j_1)
  sch.transform_layout(B, ("write", 0), lambda i, j: (j // 4, i, j % 4))
CHECK-LABEL: def blocked(
CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[arith.divui(j, 4), i, arith.remui(j, 4)] = v1 * v1
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v0[arith.divui(j, 4), i, arith.remui(j, 4)] + 1.0
CHECK-NEXT:     return
"""

padded = """
on squares_plus_one: B C(i_1, j_1)
  sch.transform_layout(B, ("write", 0), lambda i, j: (i, j // 5, j % 5), pad_value=0)
CHECK-LABEL: def padded(
CHECK:     v0 = memref.alloca(T.Buffer((8, 10), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(5):
CHECK-NEXT:                 v0[i, j * 5 + k] = 0.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[i, j] = v1 * v1
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""

what_is_read = """
# Transform a buffer that the block reads, wherever it is computed.
on squares_plus_one_4_by_4: C
  sch.transform_layout(C, ("read", 0), lambda i, j: (j, i))
CHECK-LABEL: def what_is_read(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[j, i] = v1 * v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[j, i] + 1.0
CHECK-NEXT:     return
"""

by_name = """
# All in one dimension.
on squares_plus_one_4_by_4: C
  sch.transform_layout(C, "B", lambda i, j: (i * 4 + j,))
CHECK-LABEL: def by_name(
CHECK:     v0 = memref.alloca(T.Buffer((16,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[i * 4 + j] = v1 * v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i * 4 + j] + 1.0
CHECK-NEXT:     return
"""

by_number = """
# Transform the n-th buffer that the block writes.
on squares_plus_one_4_by_4: B
  sch.transform_layout(B, 0, lambda i, j: (i, -j + 3))
CHECK-LABEL: def by_number(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[i, 3 - j] = v1 * v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i, 3 - j] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def squares_plus_one_of_7(A: T.Buffer((7,), "float32"), C: T.Buffer((7,), "float32")):
    B = T.alloc_buffer((7,), "float32")
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = A[vi] * A[vi]
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi] + T.float32(1)


not_looked_at = """
# Whether no two elements get the same place is not tried out, and free places hold anything.
on squares_plus_one_of_7: B
  sch.transform_layout(B, 0, lambda i: (i // 2, i % 2), assume_injective_transform=True)
CHECK-LABEL: def not_looked_at(
CHECK:     v0 = memref.alloca(T.Buffer((7,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         v1 = A[i]
CHECK-NEXT:         v0[i] = v1 * v1
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         C[i] = v0[i] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def integers(A: T.Buffer((7,), "int32"), C: T.Buffer((7,), "int32")):
    B = T.alloc_buffer((7,), "int32")
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = A[vi] * A[vi]
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi] + T.int32(1)


integers = """
# Places that are free hold a number.
on integers: B
  sch.transform_layout(B, 0, lambda i: (i // 4, i % 4), pad_value=-1)
CHECK-LABEL: def integers(
CHECK:     v0 = memref.alloca(T.Buffer((8,), "int32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[i * 4 + j] = -1
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         v1 = A[i]
CHECK-NEXT:         v0[i] = v1 * v1
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         C[i] = v0[i] + 1
CHECK-NEXT:     return
"""

least_and_most = """
on squares_plus_one_of_7: B
  sch.transform_layout(B, 0, lambda i: (min(i, 6), max(i, 0) % 2))
CHECK-LABEL: def least_and_most(
CHECK:     v0 = memref.alloca(T.Buffer((7, 2), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         v1 = A[i]
CHECK-NEXT:         v0[i, arith.remui(i, 2)] = v1 * v1
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         C[i] = v0[i, arith.remui(i, 2)] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def written_twice(A: T.Buffer((7,), "float32"), C: T.Buffer((7,), "float32")):
    B = T.alloc_buffer((7,), "float32")
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = A[vi] * A[vi]
    for i in range(3):
        with T.block("part"):
            vi = T.axis.spatial(3, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi] + T.float32(1)


written_twice = """
# Before all that writes it.
on written_twice: B
  sch.transform_layout(B, 0, lambda i: (i // 4, i % 4), pad_value=5)
CHECK-LABEL: def written_twice(
CHECK:     v0 = memref.alloca(T.Buffer((8,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[i * 4 + j] = 5.0
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         v1 = A[i]
CHECK-NEXT:         v0[i] = v1 * v1
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         v0[i] = A[i] + 1.0
CHECK-NEXT:     for i in range(7):
CHECK-NEXT:         C[i] = v0[i] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def parameters(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)


parameters = """
# Callers' parameters stay unchanged: inputs are copied, and outputs are copied at the end.
on parameters: C
  sch.transform_layout(C, ("read", 0), lambda i, j: (j, i))
  sch.transform_layout(C, ("write", 0), lambda i, j: (i * 6 + j,))
CHECK-LABEL: def parameters(
CHECK:     v0 = memref.alloca(T.Buffer((24,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v1[j, i] = A[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[i * 6 + j] = v1[j, i] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             C[i, j] = v0[i * 6 + j]
CHECK-NEXT:     return
"""


@T.prim_func
def at_computed_places(A: T.Buffer((8, 4), "float32"), I: T.Buffer((6,), "int64"), C: T.Buffer((6, 4), "float32")):
    B = T.alloc_buffer((8, 4), "float32")
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[I[vi], vj]


at_computed_places = """
on at_computed_places: B
  sch.transform_layout(B, 0, lambda i, j: (j // 2, i, j % 2))
CHECK-LABEL: def at_computed_places(
CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 2), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[arith.divui(j, 2), i, arith.remui(j, 2)] = A[i, j] * 2.0
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = I_1[i]
CHECK-NEXT:             v2 = arith.divui(j, 2)
CHECK-NEXT:             v3 = v0[v2, arith.index_cast(arith.maxsi(arith.minsi(v1, 7), 0), T.index), arith.remui(j, 2)]
CHECK-NEXT:             C[i, j] = v3
CHECK-NEXT:     return
"""
