# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_block: a handle of a block by its name, without an effect."""

from relax_mlir.script import tir as T

nothing_changes = """
on squares_plus_one_4_by_4
  C = sch.get_block("C")
CHECK-LABEL: def nothing_changes(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[i, j] = v1 * v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def of_two_names(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((4, 4), "float32")
    D = T.alloc_buffer((4, 4), "float32")
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


of_two_names = """
# Of two blocks of one name the second one has a number.
on of_two_names
  first = sch.get_block("B")
  second = sch.get_block("B_1")
  i, j = sch.get_loops(second)
  sch.reorder(j, i)
CHECK-LABEL: def of_two_names(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[i, j] = v1 * v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[j, i] = v0[j, i] + 1.0
CHECK-NEXT:     return
"""

by_its_tensor = """
# Any name is possible in a text.
on squares_plus_one_4_by_4
  B_copy = sch.get_block(name="B")
  i, j = sch.get_loops(B_copy)
  sch.unroll(j)
CHECK-LABEL: def by_its_tensor(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v1 = A[i, 0]
CHECK-NEXT:         v0[i, 0] = v1 * v1
CHECK-NEXT:         v2 = A[i, 1]
CHECK-NEXT:         v0[i, 1] = v2 * v2
CHECK-NEXT:         v3 = A[i, 2]
CHECK-NEXT:         v0[i, 2] = v3 * v3
CHECK-NEXT:         v4 = A[i, 3]
CHECK-NEXT:         v0[i, 3] = v4 * v4
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""
