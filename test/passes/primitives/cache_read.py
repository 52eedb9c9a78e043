# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.cache_read: a copy of a buffer that a block reads."""

from relax_mlir.script import tir as T

whole = """
on matmul: C(i, j, k)
  B_global = sch.cache_read(C, 1, "global")
CHECK-LABEL: def whole(
CHECK:     v0 = memref.alloca(T.Buffer((8, 32), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             v0[i, j] = B[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     C[i, j] = 0.0
CHECK-NEXT:                 v1 = A[i, k]
CHECK-NEXT:                 v2 = v0[k, j]
CHECK-NEXT:                 v3 = C[i, j]
CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v4
CHECK-NEXT:     return
"""

by_name_where_needed = """
on matmul: C(i, j, k)
  A_local = sch.cache_read(C, "A", "local")
  sch.compute_at(A_local, i)
CHECK-LABEL: def by_name_where_needed(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0[0, j] = A[i, j]
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     C[i, j] = 0.0
CHECK-NEXT:                 v1 = v0[0, k]
CHECK-NEXT:                 v2 = B[k, j]
CHECK-NEXT:                 v3 = C[i, j]
CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v4
CHECK-NEXT:     return
"""


@T.prim_func
def two_readers(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32"), D: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] * T.float32(2)


of_all_that_read = """
# All that read it read the copy.
on two_readers: C
  sch.cache_read(C, 0, "local")
CHECK-LABEL: def of_all_that_read(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[i, j] = A[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             D[i, j] = v0[i, j] * 2.0
CHECK-NEXT:     return
"""

of_one = """
# D reads the copy, C does not.
on two_readers: C D
  sch.cache_read(C, 0, "local", consumer_blocks=[D])
CHECK-LABEL: def of_one(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = A[i, j] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[i, j] = A[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             D[i, j] = v0[i, j] * 2.0
CHECK-NEXT:     return
"""

behind_what_writes = """
# A buffer that a block makes is copied when it is made.
on squares_read_twice: C
  B_shared = sch.cache_read(C, "B", "shared")
CHECK-LABEL: def behind_what_writes(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v1[i, j] = v2 * v2
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[i, j] = v1[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             D[i, j] = v0[i, j] * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def made_in_the_same_loops(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i in range(8):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + B[vi, vj + 4]


made_in_the_same_loops = """
# For a buffer that is computed in the same loops, the copy has the elements of one step.
on made_in_the_same_loops: C
  B_local = sch.cache_read(C, 0, "local")
CHECK-LABEL: def made_in_the_same_loops(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v1[0, j] = v2 * v2
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v0[0, j] = v1[0, j]
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[0, j] + v0[0, j + 4]
CHECK-NEXT:     return
"""
