# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/Inputs/device_memory.py --tir-apply-schedule --print-script | FileCheck %s
"""sch.pipeline: steps of a loop copy the operands of later steps."""

from relax_mlir.script import tir as T

rows = """
# Two versions of a row: the next one is copied while a step uses this one.
on doubled_6_by_16: C(i, j)
  A_local = sch.cache_read(C, 0, "local")
  sch.compute_at(A_local, i)
  sch.pipeline(i)
CHECK-LABEL: def rows(
CHECK:     v0 = memref.alloca(T.Buffer((2, 1, 16), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(16):
CHECK-NEXT:         v0[0, 0, i] = A[0, i]
CHECK-NEXT:     for i in range(5):
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             v1 = i + 1
CHECK-NEXT:             v0[arith.remui(v1, 2), 0, j] = A[v1, j]
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             C[i, j] = v0[arith.remui(i, 2), 0, j] * 2.0
CHECK-NEXT:     for i in range(16):
CHECK-NEXT:         C[5, i] = v0[1, 0, i] * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def panels(A: T.Buffer((4, 10), "float32"), B: T.Buffer((10, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i, j, k in T.grid(4, 8, 10):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


panels = """
# Three of them, two steps ahead, where the last step is shorter.
on panels: C(i, j, k)
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(k_0, i, j, k_1)
  B_local = sch.cache_read(C, "B", "local")
  sch.compute_at(B_local, k_0)
  sch.pipeline(k_0, stages=3)
CHECK-LABEL: def panels(
CHECK:         A: T.Buffer((4, 10), "float32"),
CHECK-NEXT:         B: T.Buffer((10, 8), "float32"),
CHECK-NEXT:         C: T.Buffer((4, 8), "float32"),
CHECK-NEXT:     ):
CHECK-NEXT:         v0 = memref.alloca(T.Buffer((3, 4, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:         for i in range(2):
CHECK-NEXT:             for j in range(4):
CHECK-NEXT:                 for k in range(8):
CHECK-NEXT:                     v0[i, j, k] = B[j + i * 4, k]
CHECK-NEXT:         for i in range(4):
CHECK-NEXT:             for j in range(8):
CHECK-NEXT:                 v1 = i + 8
CHECK-NEXT:                 if v1 < 10:
CHECK-NEXT:                     v0[2, i, j] = B[v1, j]
CHECK-NEXT:         for i in range(4):
CHECK-NEXT:             for j in range(8):
CHECK-NEXT:                 for k in range(4):
CHECK-NEXT:                     if k == 0:
CHECK-NEXT:                         C[i, j] = 0.0
CHECK-NEXT:                     v1 = A[i, k]
CHECK-NEXT:                     v2 = v0[0, k, j]
CHECK-NEXT:                     v3 = C[i, j]
CHECK-NEXT:                     v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                     C[i, j] = v4
CHECK-NEXT:         for i in range(2):
CHECK-NEXT:             for j in range(4):
CHECK-NEXT:                 for k in range(8):
CHECK-NEXT:                     for l in range(4):
CHECK-NEXT:                         v1 = i * 4 + l + 4
CHECK-NEXT:                         if v1 < 10:
CHECK-NEXT:                             v2 = A[j, v1]
CHECK-NEXT:                             v3 = v0[i + 1, l, k]
CHECK-NEXT:                             v4 = C[j, k]
CHECK-NEXT:                             v5 = arith.addf(v4, arith.mulf(v2, v3, fastmath="contract"), fastmath="contract")
CHECK-NEXT:                             C[j, k] = v5
CHECK-NEXT:         return
"""

on_a_device = """
# A step waits for its own copy, but not for the next one. Results are copied out while the next step computes.
on doubled_6_by_16: C(i, j)
  C_sram = sch.cache_write(C, 0, "lit.sram")
  sch.reverse_compute_at(C_sram, i)
  A_sram = sch.cache_read(C, 0, "lit.sram")
  sch.compute_at(A_sram, i)
  sch.pipeline(i)
CHECK-LABEL: def on_a_device(
CHECK:     v0 = memref.alloc(T.Buffer((256,), "int8"), alignment=64, segments=(0, 0), attrs={"tir.memory": "lit.sram"})
CHECK-NEXT:     v1 = memref.view(v0, T.index(128), T.Buffer((2, 1, 16), "float32"))
CHECK-NEXT:     v2 = memref.view(v0, T.index(0), T.Buffer((2, 1, 16), "float32"))
CHECK-NEXT:     v3 = memref.subview(A, [0, 0], [1, 16], [1, 1], I.type("memref<16xf32, strided<[1]>>"))
CHECK-NEXT:     v4 = memref.subview(v2, [0, 0, 0], [1, 1, 16], [1, 1, 1], I.type("memref<16xf32, strided<[1]>>"))
CHECK-NEXT:     T.call_extern(v3, v4, func="dma")
CHECK-NEXT:     for i in range(5):
CHECK-NEXT:         v5 = i + 1
CHECK-NEXT:         v6 = memref.subview(A, [v5, 0], [1, 16], [1, 1], I.type("memref<16xf32, strided<[1], offset: ?>>"))
CHECK-NEXT:         v7 = memref.subview(v2, [arith.remui(v5, 2), 0, 0], [1, 1, 16], [1, 1, 1], I.type("memref<16xf32, strided<[1], offset: ?>>"))
CHECK-NEXT:         T.call_extern(v6, v7, func="dma")
CHECK-NEXT:         T.call_extern(T.int32(1), func="dma_wait")
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             v8 = arith.remui(i, 2)
CHECK-NEXT:             v1[v8, 0, j] = v2[v8, 0, j] * 2.0
CHECK-NEXT:         v8 = memref.subview(v1, [arith.remui(i, 2), 0, 0], [1, 1, 16], [1, 1, 1], I.type("memref<16xf32, strided<[1], offset: ?>>"))
CHECK-NEXT:         v9 = memref.subview(C, [i, 0], [1, 16], [1, 1], I.type("memref<16xf32, strided<[1], offset: ?>>"))
CHECK-NEXT:         T.call_extern(v8, v9, func="dma")
CHECK-NEXT:     T.call_extern(T.int32(1), func="dma_wait")
CHECK-NEXT:     for i in range(16):
CHECK-NEXT:         v1[1, 0, i] = v2[1, 0, i] * 2.0
CHECK-NEXT:     v5 = memref.subview(v1, [1, 0, 0], [1, 1, 16], [1, 1, 1], I.type("memref<16xf32, strided<[1], offset: 16>>"))
CHECK-NEXT:     v6 = memref.subview(C, [5, 0], [1, 16], [1, 1], I.type("memref<16xf32, strided<[1], offset: 80>>"))
CHECK-NEXT:     T.call_extern(v5, v6, func="dma")
CHECK-NEXT:     T.call_extern(T.int32(0), func="dma_wait")
CHECK-NEXT:     return
"""
