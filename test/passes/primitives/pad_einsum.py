# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.pad_einsum: sizes that are multiples, with zeros at the end."""

from relax_mlir.script import tir as T


@T.prim_func
def matmul_3_by_5(A: T.Buffer((3, 6), "float32"), B: T.Buffer((6, 5), "float32"), C: T.Buffer((3, 5), "float32")):
    for i, j, k in T.grid(3, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


all_iters = """
on matmul_3_by_5: C
  sch.pad_einsum(C, [4, 8, 4])
CHECK-LABEL: def all_iters(
CHECK:     v0 = memref.alloca(T.Buffer((4, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((8, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v2 = memref.alloca(T.Buffer((4, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v2[i, j] = 0.0
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v2[i, j] = A[i, j]
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1[i, j] = 0.0
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(5):
CHECK-NEXT:             v1[i, j] = B[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v0[i, j] = 0.0
CHECK-NEXT:                 v3 = v2[i, k]
CHECK-NEXT:                 v4 = v1[k, j]
CHECK-NEXT:                 v5 = v0[i, j]
CHECK-NEXT:                 v6 = arith.addf(v5, arith.mulf(v3, v4, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 v0[i, j] = v6
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(5):
CHECK-NEXT:             C[i, j] = v0[i, j]
CHECK-NEXT:     return
"""

rows = """
# Only buffers that grow are copied.
on matmul_3_by_5: C
  sch.pad_einsum(C, [4, 1, 1])
CHECK-LABEL: def rows(
CHECK:     v0 = memref.alloca(T.Buffer((4, 5), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v1[i, j] = 0.0
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v1[i, j] = A[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(5):
CHECK-NEXT:             for k in range(6):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     v0[i, j] = 0.0
CHECK-NEXT:                 v2 = v1[i, k]
CHECK-NEXT:                 v3 = B[k, j]
CHECK-NEXT:                 v4 = v0[i, j]
CHECK-NEXT:                 v5 = arith.addf(v4, arith.mulf(v2, v3, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 v0[i, j] = v5
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(5):
CHECK-NEXT:             C[i, j] = v0[i, j]
CHECK-NEXT:     return
"""

multiples_already = """
# Sizes that are multiples stay unchanged.
on matmul_3_by_5: C
  sch.pad_einsum(C, [3, 5, 2])
CHECK-LABEL: def multiples_already(
CHECK:     for i in range(3):
CHECK-NEXT:         for j in range(5):
CHECK-NEXT:             for k in range(6):
CHECK-NEXT:                 if k == 0:
CHECK-NEXT:                     C[i, j] = 0.0
CHECK-NEXT:                 v0 = A[i, k]
CHECK-NEXT:                 v1 = B[k, j]
CHECK-NEXT:                 v2 = C[i, j]
CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                 C[i, j] = v3
CHECK-NEXT:     return
"""


@T.prim_func
def no_products(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + T.exp(A[vi, vk])


no_products = """
# An einsum without products may have several outputs.
on no_products: B
  sch.pad_einsum(B, [4, 3])
CHECK-LABEL: def no_products(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v1[i, j] = 0.0
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v1[i, j] = A[i, j]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 v0[i] = 0.0
CHECK-NEXT:             v2 = v1[i, j]
CHECK-NEXT:             v3 = v0[i]
CHECK-NEXT:             v0[i] = arith.addf(v3, T.exp(v2), fastmath="contract")
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         B[i] = v0[i]
CHECK-NEXT:     return
"""


@T.prim_func
def no_reduction(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            B[vi] = A[vi] + A[vi]


no_reduction = """
on no_reduction: B
  sch.pad_einsum(B, [4])
CHECK-LABEL: def no_reduction(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v1[i] = 0.0
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         v1[i] = A[i]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v2 = v1[i]
CHECK-NEXT:         v0[i] = v2 + v2
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         B[i] = v0[i]
CHECK-NEXT:     return
"""


@T.prim_func
def bytes(A: T.Buffer((2, 6), "int8"), B: T.Buffer((6,), "int8"), C: T.Buffer((2,), "int32")):
    for i, k in T.grid(2, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk])


bytes = """
# Numbers that are converted first are factors, too.
on bytes: C
  sch.pad_einsum(C, [1, 4])
CHECK-LABEL: def bytes(
CHECK:     v0 = memref.alloca(T.Buffer((8,), "int8"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((2, 8), "int8"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1[i, j] = 0
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             v1[i, j] = A[i, j]
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         v0[i] = 0
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         v0[i] = B[i]
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 C[i] = 0
CHECK-NEXT:             v2 = v1[i, j]
CHECK-NEXT:             v3 = v0[j]
CHECK-NEXT:             v4 = C[i]
CHECK-NEXT:             C[i] = v4 + arith.extsi(v2, T.int32) * arith.extsi(v3, T.int32)
CHECK-NEXT:     return
"""

sizes_of_the_run = """
on symbolic_squares: B
  sch.pad_einsum(B, [4, 1])
CHECK-LABEL: def sizes_of_the_run(
CHECK:     v0 = A.shape[0]
CHECK-NEXT:     v1 = arith.divui(v0 + 3, 4) * 4
CHECK-NEXT:     v2 = memref.alloc(v1, T.Buffer(("?", 8), "float32"), alignment=64, segments=(1, 0))
CHECK-NEXT:     v3 = memref.alloc(v1, T.Buffer(("?", 8), "float32"), alignment=64, segments=(1, 0))
CHECK-NEXT:     for i in range(v1):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v2[i, j] = 0.0
CHECK-NEXT:     for i in range(v0):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v2[i, j] = A[i, j]
CHECK-NEXT:     for i in range(v1):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v4 = v2[i, j]
CHECK-NEXT:             v3[i, j] = v4 * v4
CHECK-NEXT:     for i in range(v0):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             B[i, j] = v3[i, j]
"""
