# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.reverse_compute_inline: a block's computation at the producer of its input."""

from relax_mlir.script import tir as T

once = """
on squares_plus_one: B C(i_1, j_1)
  sch.reverse_compute_inline(C)
CHECK-LABEL: def once(
CHECK:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             C[i, j] = v0 * v0 + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def with_others(A: T.Buffer((4, 8), "float32"), X: T.Buffer((8,), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi] + X[vi] * T.Cast("float32", vj)


with_others = """
# Other operands and indices are the producer's.
on with_others: C
  sch.reverse_compute_inline(C)
CHECK-LABEL: def with_others(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             v1 = X[j]
CHECK-NEXT:             v2 = v0 * v0
CHECK-NEXT:             v3 = arith.sitofp(arith.index_cast(i, T.int64), T.float32)
CHECK-NEXT:             C[j, i] = v2 + v1 * v3
CHECK-NEXT:     return
"""


@T.prim_func
def read_twice(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((4, 4), "float32")
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * B[vi, vj] + A[vi, vj]


read_twice = """
on read_twice: C
  sch.reverse_compute_inline(C)
CHECK-LABEL: def read_twice(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = A[i, j]
CHECK-NEXT:             v1 = v0 + 1.0
CHECK-NEXT:             C[i, j] = v1 * v1 + v0
CHECK-NEXT:     return
"""


@T.prim_func
def in_another_shape(A: T.Buffer((8, 8), "float32"), C: T.Buffer((2, 4, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j, k in T.grid(2, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = B[vi * 4 + vj, vk] + T.float32(1)


in_another_shape = """
# Where it reads at sums, quotients and remainders of its iters: these are known by the producer's.
on in_another_shape: C
  sch.reverse_compute_inline(C)
CHECK-LABEL: def in_another_shape(
CHECK:     v0 = memref.collapse_shape(C, T.Buffer((8, 8), "float32"), reassociation=[[0, 1], [2]])
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0[i, j] = A[i, j] * 2.0 + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def a_part_in_tiles(A: T.Buffer((2, 2, 4, 4), "float32"), C: T.Buffer((6, 7), "float32")):
    B = T.alloc_buffer((2, 2, 4, 4), "float32")
    for i, j, k, l in T.grid(2, 2, 4, 4):
        with T.block("B"):
            vi, vj, vk, vl = T.axis.remap("SSSS", [i, j, k, l])
            B[vi, vj, vk, vl] = A[vi, vj, vk, vl] * T.float32(2)
    for i, j in T.grid(6, 7):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 4, (vj + 1) // 4, vi % 4, (vj + 1) % 4] + T.float32(1)


a_part_in_tiles = """
on a_part_in_tiles: C
  sch.reverse_compute_inline(C)
CHECK-LABEL: def a_part_in_tiles(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(4):
CHECK-NEXT:                 for l in range(4):
CHECK-NEXT:                     v0 = i * 4 + k
CHECK-NEXT:                     if (v0 < 6) & (j * -4 - l + 1 < 1):
CHECK-NEXT:                         C[v0, j * 4 + l + -1] = A[i, j, k, l] * 2.0 + 1.0
CHECK-NEXT:     return
"""
