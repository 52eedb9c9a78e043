# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/Inputs/device_memory.py --tir-apply-schedule --print-script | FileCheck %s
"""sch.cache_read with a memory that has its own copy functions: parts of any size, and waits."""

from relax_mlir.script import tir as T

whole = """
# All of a nest is one copy, which is waited for where it is used.
on doubled_6_by_16: C
  A_sram = sch.cache_read(C, 0, "lit.sram")
CHECK-LABEL: def whole(
CHECK:     v0 = memref.alloc(T.Buffer((384,), "int8"), alignment=64, segments=(0, 0), attrs={"tir.memory": "lit.sram"})
CHECK-NEXT:     v1 = memref.view(v0, T.index(0), T.Buffer((6, 16), "float32"))
CHECK-NEXT:     v2 = memref.cast(A, I.type("memref<6x16xf32, strided<[16, 1]>>"))
CHECK-NEXT:     v3 = memref.cast(v1, I.type("memref<6x16xf32, strided<[16, 1]>>"))
CHECK-NEXT:     T.call_extern(v2, v3, func="dma")
CHECK-NEXT:     T.call_extern(T.int32(0), func="dma_wait")
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             C[i, j] = v1[i, j] * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def parts(A: T.Buffer((6, 18), "float32"), C: T.Buffer((6, 18), "float32")):
    for i, j in T.grid(6, 18):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)


parts = """
# At each step its part, the last one smaller; the next one is not written before this one is read.
on parts: C(i, j)
  j_0, j_1 = sch.split(j, [None, 8])
  sch.reorder(j_0, i, j_1)
  A_sram = sch.cache_read(C, 0, "lit.sram")
  sch.compute_at(A_sram, j_0)
CHECK-LABEL: def parts(
CHECK:     v0 = memref.alloc(T.Buffer((192,), "int8"), alignment=64, segments=(0, 0), attrs={"tir.memory": "lit.sram"})
CHECK-NEXT:     for i in range(3):
CHECK-NEXT:         v1 = memref.view(v0, T.index(0), T.Buffer((6, 8), "float32"))
CHECK-NEXT:         v2 = i * 8
CHECK-NEXT:         v3 = arith.minsi(v2 + 8, 18) + i * -8
CHECK-NEXT:         v4 = memref.subview(A, [0, v2], [6, v3], [1, 1], I.type("memref<6x?xf32, strided<[18, 1], offset: ?>>"))
CHECK-NEXT:         v5 = memref.subview(v1, [0, 0], [6, v3], [1, 1], I.type("memref<6x?xf32, strided<[8, 1]>>"))
CHECK-NEXT:         T.call_extern(v4, v5, func="dma")
CHECK-NEXT:         T.call_extern(T.int32(0), func="dma_wait")
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 v6 = v2 + k
CHECK-NEXT:                 if v6 < 18:
CHECK-NEXT:                     C[j, v6] = v1[j, k] * 2.0
CHECK-NEXT:     return
"""

out = """
# Results in the memory are copied out, with a wait at the end.
on doubled_6_by_16: C
  C_sram = sch.cache_write(C, 0, "lit.sram")
CHECK-LABEL: def out(
CHECK:     v0 = memref.alloc(T.Buffer((384,), "int8"), alignment=64, segments=(0, 0), attrs={"tir.memory": "lit.sram"})
CHECK-NEXT:     v1 = memref.view(v0, T.index(0), T.Buffer((6, 16), "float32"))
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             v1[i, j] = A[i, j] * 2.0
CHECK-NEXT:     v2 = memref.cast(v1, I.type("memref<6x16xf32, strided<[16, 1]>>"))
CHECK-NEXT:     v3 = memref.cast(C, I.type("memref<6x16xf32, strided<[16, 1]>>"))
CHECK-NEXT:     T.call_extern(v2, v3, func="dma")
CHECK-NEXT:     T.call_extern(T.int32(0), func="dma_wait")
CHECK-NEXT:     return
"""

blocks = """
# Blocks of a layout are a copy each.
on doubled_6_by_16: C
  A_sram = sch.cache_read(C, 0, "lit.sram")
  sch.transform_layout(A_sram, ("write", 0), lambda i, j: (j // 4, i, j % 4))
  ax0, ax1 = sch.get_loops(A_sram)
  a, b = sch.split(ax1, [None, 4])
  sch.reorder(a, ax0, b)
CHECK-LABEL: def blocks(
CHECK:     v0 = memref.alloc(T.Buffer((384,), "int8"), alignment=64, segments=(0, 0), attrs={"tir.memory": "lit.sram"})
CHECK-NEXT:     v1 = memref.view(v0, T.index(0), T.Buffer((4, 6, 4), "float32"))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v2 = memref.subview(A, [0, i * 4], [6, 4], [1, 1], I.type("memref<6x4xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:         v3 = memref.subview(v1, [i, 0, 0], [1, 6, 4], [1, 1, 1], I.type("memref<6x4xf32, strided<[4, 1], offset: ?>>"))
CHECK-NEXT:         T.call_extern(v2, v3, func="dma")
CHECK-NEXT:     T.call_extern(T.int32(0), func="dma_wait")
CHECK-NEXT:     for i in range(6):
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             C[i, j] = v1[arith.divui(j, 4), i, arith.remui(j, 4)] * 2.0
CHECK-NEXT:     return
"""
