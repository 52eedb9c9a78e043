# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.cache_write: a block writes to another buffer, from which its results are copied."""

from relax_mlir.script import tir as T

registers = """
on matmul: C(i, j, k)
  C_local = sch.cache_write(C, 0, "local")
  sch.reverse_compute_at(C_local, i)
CHECK-LABEL: def registers(
CHECK:     v0 = memref.alloca(T.Buffer((1, 32), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v0[0, j] = 0.0
CHECK-NEXT:                 v1 = A[i, k]
CHECK-NEXT:                 v2 = B[k, j]
CHECK-NEXT:                 v3 = v0[0, j]
CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 v0[0, j] = v4
CHECK-NEXT:         for j in range(32):
CHECK-NEXT:             C[i, j] = v0[0, j]
CHECK-NEXT:     return
"""

whole = """
on squares_plus_one_4_by_4: C
  C_global = sch.cache_write(C, "C", "global")
CHECK-LABEL: def whole(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v1[i, j] = v2 * v2
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0[i, j] = v1[i, j] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i, j]
CHECK-NEXT:     return
"""

readers_of_the_copy = """
# Readers use the copy.
on squares_read_twice: B
  B_local = sch.cache_write(B, 0, "local")
CHECK-LABEL: def readers_of_the_copy(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v0[i, j] = v2 * v2
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1[i, j] = v0[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v1[i, j] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             D[i, j] = v1[i, j] * 2.0
CHECK-NEXT:     return
"""

one_reads_the_first = """
# D reads the original buffer.
on squares_read_twice: B D
  B_local = sch.cache_write(B, 0, "local", consumer_blocks=[D])
CHECK-LABEL: def one_reads_the_first(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v2 = A[i, j]
CHECK-NEXT:             v0[i, j] = v2 * v2
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1[i, j] = v0[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v1[i, j] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             D[i, j] = v0[i, j] * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def row_sums(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


with_its_init = """
on row_sums: B
  B_local = sch.cache_write(B, 0, "local")
  i, k = sch.get_loops(B)
  init = sch.decompose_reduction(B, k)
CHECK-LABEL: def with_its_init(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v0[i] = 0.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v2 = v0[i]
CHECK-NEXT:             v0[i] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         B[i] = v0[i]
CHECK-NEXT:     return
"""

written_in_the_same_loops = """
# All that write it in these loops write elsewhere.
on row_sums: B(i, k)
  init = sch.decompose_reduction(B, k)
  B_local = sch.cache_write(B, 0, "local")
CHECK-LABEL: def written_in_the_same_loops(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v0[i] = 0.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v2 = v0[i]
CHECK-NEXT:             v0[i] = arith.addf(v2, v1, fastmath="contract")
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         B[i] = v0[i]
CHECK-NEXT:     return
"""


@T.prim_func
def read_in_the_same_loops(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i in range(4):
        for i1, j in T.grid(2, 8):
            with T.block("B"):
                vi = T.axis.spatial(8, i * 2 + i1)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i1, j in T.grid(2, 8):
            with T.block("C"):
                vi = T.axis.spatial(8, i * 2 + i1)
                vj = T.axis.spatial(8, j)
                C[vi, vj] = B[vi, 7 - vj] + T.float32(1)


read_in_the_same_loops = """
# The result of one step, where other blocks read it in the same loops.
on read_in_the_same_loops: B
  B_local = sch.cache_write(B, 0, "local")
CHECK-LABEL: def read_in_the_same_loops(
CHECK:     v0 = memref.alloca(T.Buffer((2, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((2, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 v2 = A[i * 2 + j, k]
CHECK-NEXT:                 v0[j, k] = v2 * v2
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 v1[j, k] = v0[j, k]
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 C[i * 2 + j, k] = v1[j, 7 - k] + 1.0
CHECK-NEXT:     return
"""
