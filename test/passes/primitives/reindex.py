# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.reindex: a copy with a block's iters as its dimensions."""

from relax_mlir.script import tir as T


@T.prim_func
def doubled_transpose(A: T.Buffer((6, 4), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.float32(2)


of_a_read = """
on doubled_transpose: B
  A_reindex = sch.reindex(B, ("read", 0))
CHECK-LABEL: def of_a_read(
CHECK:     v0 = memref.alloca(T.Buffer((4, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[i, j] = A[j, i]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             B[i, j] = v0[i, j] * 2.0
CHECK-NEXT:     return
"""

of_a_write = """
on doubled_transpose: B
  sch.reorder_block_iter_var(B, [1, 0])
  B_reindex = sch.reindex(B, ("write", 0))
CHECK-LABEL: def of_a_write(
CHECK:     v0 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v0[j, i] = A[j, i] * 2.0
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             B[j, i] = v0[i, j]
CHECK-NEXT:     return
"""


@T.prim_func
def by_name(A: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi * 2] + T.float32(1)


by_name = """
on by_name: C
  copy = sch.reindex(C, "A")
CHECK-LABEL: def by_name(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v0[i] = A[i * 2]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         C[i] = v0[i] + 1.0
CHECK-NEXT:     return
"""
