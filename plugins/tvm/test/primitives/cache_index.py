# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.cache_index: a block's computed indices, stored once in buffers."""

from relax_mlir.script import tir as T

each_once = """
on repeated_reads: C
  x, y, z = sch.cache_index(C, "global")
CHECK-LABEL: def each_once(
CHECK:     v0 = memref.alloca(T.Buffer((8,), "int32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((12,), "int32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v2 = memref.alloca(T.Buffer((8, 12), "int32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v2[i, j] = arith.index_cast(arith.divui(i, 4) + arith.divui(j, 4), T.int32)
CHECK-NEXT:     for i in range(12):
CHECK-NEXT:         v1[i] = arith.index_cast(arith.divui(i, 2), T.int32)
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         v0[i] = arith.index_cast(arith.divui(i, 2), T.int32)
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v3 = v2[i, j]
CHECK-NEXT:             v4 = v1[j]
CHECK-NEXT:             v5 = v0[i]
CHECK-NEXT:             v6 = arith.index_cast(v3, T.index)
CHECK-NEXT:             v7 = arith.index_cast(v4, T.index)
CHECK-NEXT:             C[i, j] = A[v6, v7] + A[arith.index_cast(v5, T.index), v7]
CHECK-NEXT:     return
"""

what_is_there_twice = """
on repeated_reads: C
  x, = sch.cache_index(C, "global", cse_thresh=1)
CHECK-LABEL: def what_is_there_twice(
CHECK:     v0 = memref.alloca(T.Buffer((12,), "int32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(12):
CHECK-NEXT:         v0[i] = arith.index_cast(arith.divui(i, 2), T.int32)
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v1 = v0[j]
CHECK-NEXT:             v2 = arith.divui(i, 4) + arith.divui(j, 4)
CHECK-NEXT:             v3 = arith.index_cast(v1, T.index)
CHECK-NEXT:             C[i, j] = A[v2, v3] + A[arith.divui(i, 2), v3]
CHECK-NEXT:     return
"""


@T.prim_func
def computed(A: T.Buffer((10,), "float32"), I: T.Buffer((12,), "int64"), C: T.Buffer((12,), "float32")):
    for i in range(12):
        with T.block("C"):
            vi = T.axis.spatial(12, i)
            C[vi] = A[T.Cast("int64", T.floor(T.Cast("float32", vi) * T.float32(0.5)))] + A[I[vi]]


computed = """
# An index that is not a sum of iters. Operations that may trap and reads of memory stay.
on computed: C
  x, = sch.cache_index(C, "local")
CHECK-LABEL: def computed(
CHECK:     v0 = memref.alloca(T.Buffer((12,), "int64"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(12):
CHECK-NEXT:         floor_0 = T.floor(arith.sitofp(arith.index_cast(i, T.int64), T.float32) * 0.5)
CHECK-NEXT:         v1 = floor_0 < -9.223372e+18
CHECK-NEXT:         v2 = floor_0 >= 9.223372e+18
CHECK-NEXT:         v3 = arith.select((floor_0 >= -9.223372e+18) & (floor_0 < 9.223372e+18), floor_0, 0.0)
CHECK-NEXT:         v4 = arith.select(v1, -9223372036854775808, arith.select(v2, 9223372036854775807, arith.fptosi(v3, T.int64)))
CHECK-NEXT:         v0[i] = arith.maxsi(arith.minsi(v4, 9), 0)
CHECK-NEXT:     for i in range(12):
CHECK-NEXT:         v1 = I_1[i]
CHECK-NEXT:         v2 = A[arith.index_cast(v0[i], T.index)]
CHECK-NEXT:         C[i] = v2 + A[arith.index_cast(arith.maxsi(arith.minsi(v1, 9), 0), T.index)]
CHECK-NEXT:     return
"""

none = """
# Nothing to compute is no error, as in TVM.
on doubled_plus_one: B
  sch.cache_index(B, "global")
CHECK-LABEL: def none(
CHECK:     v0 = memref.alloca(T.Buffer((8, 12), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v0[i, j] = A[i, j] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""
