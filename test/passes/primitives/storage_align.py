# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.storage_align: strides of an allocated buffer."""

from relax_mlir.script import tir as T

longer_rows = """
on doubled_plus_one: B
  sch.storage_align(B, 0, -2, 16, 1)
CHECK-LABEL: def longer_rows(
CHECK:     v0 = memref.alloca(T.Buffer((8, 17), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v0[i, j] = A[i, j] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""

of_a_part = """
# In a buffer for one step of a loop. The last alignment of an axis counts.
on doubled_plus_one: B C(i, j)
  i_0, i_1 = sch.split(i, [None, 2])
  sch.compute_at(B, i_0)
  sch.storage_align(B, 0, 0, 4, 1)
  sch.storage_align(B, 0, 0, 8, 2)
CHECK-LABEL: def of_a_part(
CHECK:     v0 = memref.alloca(T.Buffer((2, 18), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(12):
CHECK-NEXT:                 v0[j, k] = A[j + i * 2, k] * 2.0
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(12):
CHECK-NEXT:                 C[i * 2 + j, k] = v0[j, k] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def planes(A: T.Buffer((2, 3, 5), "float32"), C: T.Buffer((2, 3, 5), "float32")):
    B = T.alloc_buffer((2, 3, 5), "float32")
    for i, j, k in T.grid(2, 3, 5):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * T.float32(2)
    for i, j, k in T.grid(2, 3, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = B[vi, vj, vk] + T.float32(1)


planes = """
# Inner axes first: planes are whole rows.
on planes: B
  sch.storage_align(B, 0, 1, 4, 2)
  sch.storage_align(B, 0, 0, 16, 8)
CHECK-LABEL: def planes(
CHECK:     v0 = memref.alloca(T.Buffer((2, 4, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(3):
CHECK-NEXT:             for k in range(5):
CHECK-NEXT:                 v0[i, j, k] = A[i, j, k] * 2.0
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(3):
CHECK-NEXT:             for k in range(5):
CHECK-NEXT:                 C[i, j, k] = v0[i, j, k] + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def dynamic(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (4, n), "float32")
    C = T.match_buffer(c, (4, n), "float32")
    B = T.alloc_buffer((4, n), "float32")
    for i, j in T.grid(4, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


dynamic = """
# Of sizes that are known at run time only.
on dynamic: B
  sch.storage_align(B, 0, 0, 32, 8)
CHECK-LABEL: def dynamic(
CHECK:     v0 = A.shape[1]
CHECK-NEXT:     v1 = 8 - v0
CHECK-NEXT:     v2 = memref.alloc(v0 + (v1 - v1 // 32 * 32), T.Buffer((4, "?"), "float32"), alignment=64, segments=(1, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(v0):
CHECK-NEXT:             v2[i, j] = A[i, j] * 2.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(v0):
CHECK-NEXT:             C[i, j] = v2[i, j] + 1.0
CHECK-NEXT:     return
"""
