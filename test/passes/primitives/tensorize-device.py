# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/Inputs/device_memory.py --tir-apply-schedule --print-script | FileCheck %s
"""sch.tensorize with an asynchronous intrinsic on operands in a device's memory."""

from relax_mlir.script import tir as T


@T.prim_func
def matmul_16_steps(A: T.Buffer((2, 16), "float32"), B: T.Buffer((16, 8), "float32"), C: T.Buffer((2, 8), "float32")):
    for i, j, k in T.grid(2, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


tiles = """
# A step waits for its copies. The next step's copies wait for their readers.
on matmul_16_steps: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  A_sram = sch.cache_read(C, "A", "lit.sram")
  sch.compute_at(A_sram, k_0)
  B_sram = sch.cache_read(C, "B", "lit.sram")
  sch.compute_at(B_sram, k_0)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(i_1, "lit.array")
CHECK-LABEL: def tiles(
CHECK:         A: T.Buffer((2, 16), "float32"),
CHECK-NEXT:         B: T.Buffer((16, 8), "float32"),
CHECK-NEXT:         C: T.Buffer((2, 8), "float32"),
CHECK-NEXT:     ):
CHECK-NEXT:         v0 = memref.alloc(T.Buffer((160,), "int8"), alignment=64, segments=(0, 0), attrs={"tir.memory": "lit.sram"})
CHECK-NEXT:         for i in range(2):
CHECK-NEXT:             for j in range(8):
CHECK-NEXT:                 C[i, j] = 0.0
CHECK-NEXT:         for i in range(4):
CHECK-NEXT:             v1 = memref.view(v0, T.index(128), T.Buffer((2, 4), "float32"))
CHECK-NEXT:             v2 = memref.view(v0, T.index(0), T.Buffer((4, 8), "float32"))
CHECK-NEXT:             T.call_extern(T.int32(0), func="array_wait")
CHECK-NEXT:             v3 = i * 4
CHECK-NEXT:             v4 = memref.subview(A, [0, v3], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:             v5 = memref.cast(v1, I.type("memref<2x4xf32, strided<[4, 1]>>"))
CHECK-NEXT:             T.call_extern(v4, v5, func="dma")
CHECK-NEXT:             v6 = memref.subview(B, [v3, 0], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v7 = memref.cast(v2, I.type("memref<4x8xf32, strided<[8, 1]>>"))
CHECK-NEXT:             T.call_extern(v6, v7, func="dma")
CHECK-NEXT:             T.call_extern(T.int32(0), func="dma_wait")
CHECK-NEXT:             v8 = memref.cast(C, I.type("memref<2x8xf32, strided<[8, 1]>>"))
CHECK-NEXT:             T.call_extern(v5, v7, v8, func="array_product")
CHECK-NEXT:         T.call_extern(T.int32(0), func="array_wait")
CHECK-NEXT:         return
"""

pipelined = """
# Pipelined, a product is started before the one before is done, and copies go on meanwhile.
on matmul_16_steps: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  A_sram = sch.cache_read(C, "A", "lit.sram")
  sch.compute_at(A_sram, k_0)
  B_sram = sch.cache_read(C, "B", "lit.sram")
  sch.compute_at(B_sram, k_0)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(i_1, "lit.array")
  sch.pipeline(k_0, stages=3)
CHECK-LABEL: def pipelined(
CHECK:         A: T.Buffer((2, 16), "float32"),
CHECK-NEXT:         B: T.Buffer((16, 8), "float32"),
CHECK-NEXT:         C: T.Buffer((2, 8), "float32"),
CHECK-NEXT:     ):
CHECK-NEXT:         v0 = memref.alloc(T.Buffer((480,), "int8"), alignment=64, segments=(0, 0), attrs={"tir.memory": "lit.sram"})
CHECK-NEXT:         v1 = memref.view(v0, T.index(384), T.Buffer((3, 2, 4), "float32"))
CHECK-NEXT:         v2 = memref.view(v0, T.index(0), T.Buffer((3, 4, 8), "float32"))
CHECK-NEXT:         for i in range(2):
CHECK-NEXT:             for j in range(8):
CHECK-NEXT:                 C[i, j] = 0.0
CHECK-NEXT:         for i in range(2):
CHECK-NEXT:             v3 = i * 4
CHECK-NEXT:             v4 = memref.subview(A, [0, v3], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:             v5 = memref.subview(v1, [i, 0, 0], [1, 2, 4], [1, 1, 1], I.type("memref<2x4xf32, strided<[4, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v4, v5, func="dma")
CHECK-NEXT:             v6 = memref.subview(B, [v3, 0], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v7 = memref.subview(v2, [i, 0, 0], [1, 4, 8], [1, 1, 1], I.type("memref<4x8xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v6, v7, func="dma")
CHECK-NEXT:         for i in range(2):
CHECK-NEXT:             T.call_extern(T.int32(2), func="dma_wait")
CHECK-NEXT:             v3 = memref.subview(v1, [i, 0, 0], [1, 2, 4], [1, 1, 1], I.type("memref<2x4xf32, strided<[4, 1], offset: ?>>"))
CHECK-NEXT:             v4 = memref.subview(v2, [i, 0, 0], [1, 4, 8], [1, 1, 1], I.type("memref<4x8xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v5 = memref.cast(C, I.type("memref<2x8xf32, strided<[8, 1]>>"))
CHECK-NEXT:             T.call_extern(v3, v4, v5, func="array_product")
CHECK-NEXT:             T.call_extern(T.int32(1), func="array_wait")
CHECK-NEXT:             v6 = i * 4 + 8
CHECK-NEXT:             v7 = memref.subview(A, [0, v6], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:             v8 = arith.remui(i + 2, 3)
CHECK-NEXT:             v9 = memref.subview(v1, [v8, 0, 0], [1, 2, 4], [1, 1, 1], I.type("memref<2x4xf32, strided<[4, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v7, v9, func="dma")
CHECK-NEXT:             v10 = memref.subview(B, [v6, 0], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v11 = memref.subview(v2, [v8, 0, 0], [1, 4, 8], [1, 1, 1], I.type("memref<4x8xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v10, v11, func="dma")
CHECK-NEXT:         for i in range(2):
CHECK-NEXT:             T.call_extern(T.int32(0), func="dma_wait")
CHECK-NEXT:             v3 = arith.remui(i + 2, 3)
CHECK-NEXT:             v4 = memref.subview(v1, [v3, 0, 0], [1, 2, 4], [1, 1, 1], I.type("memref<2x4xf32, strided<[4, 1], offset: ?>>"))
CHECK-NEXT:             v5 = memref.subview(v2, [v3, 0, 0], [1, 4, 8], [1, 1, 1], I.type("memref<4x8xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v6 = memref.cast(C, I.type("memref<2x8xf32, strided<[8, 1]>>"))
CHECK-NEXT:             T.call_extern(v4, v5, v6, func="array_product")
CHECK-NEXT:         T.call_extern(T.int32(0), func="array_wait")
CHECK-NEXT:         return
"""
