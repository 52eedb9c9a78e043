# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.unsafe_set_dtype: the element type of a buffer."""

from relax_mlir.script import tir as T

halves = """
on doubled_plus_one: B
  sch.unsafe_set_dtype(B, 0, "float16")
CHECK-LABEL: def halves(
CHECK:     v0 = memref.alloca(T.Buffer((8, 12), "float16"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v0[i, j] = arith.truncf(A[i, j] * 2.0, T.float16)
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             C[i, j] = arith.extf(v0[i, j], T.float32) + 1.0
CHECK-NEXT:     return
"""


@T.prim_func
def sums(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    S = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + A[vi, vk]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = S[vi] * T.float32(0.125)


sums = """
# The accumulator is converted at each step.
on sums: S
  sch.unsafe_set_dtype(S, 0, "float64")
CHECK-LABEL: def sums(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float64"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             if j == 0:
CHECK-NEXT:                 v0[i] = 0.0
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v2 = arith.truncf(v0[i], T.float32)
CHECK-NEXT:             v0[i] = arith.extf(arith.addf(v2, v1, fastmath="contract"), T.float64)
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         C[i] = arith.truncf(v0[i], T.float32) * 0.125
CHECK-NEXT:     return
"""


@T.prim_func
def at_computed_places(A: T.Buffer((8,), "int32"), I: T.Buffer((4,), "int64"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[I[vi]]


at_computed_places = """
# Integers, read where another buffer says.
on at_computed_places: B
  sch.unsafe_set_dtype(B, 0, "int8")
CHECK-LABEL: def at_computed_places(
CHECK:     v0 = memref.alloca(T.Buffer((8,), "int8"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         v0[i] = arith.trunci(A[i] + 1, T.int8)
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v1 = arith.extsi(v0[arith.index_cast(arith.maxsi(arith.minsi(I_1[i], 7), 0), T.index)], T.int32)
CHECK-NEXT:         C[i] = v1
CHECK-NEXT:     return
"""
