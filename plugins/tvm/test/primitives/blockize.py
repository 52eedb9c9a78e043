# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/../../../../test/passes/primitives/Inputs/tensor_intrins.py --tir-apply-schedule --print-script | FileCheck %s
"""sch.blockize: a loop and its body become one block, which tensorize accepts.

The outer loops do not belong to the block.
"""

from relax_mlir.script import tir as T

tile = """
on matmul_16_columns: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  C_o = sch.blockize(i_1)
  i_0, j_0, k_0 = sch.get_loops(C_o)
  i_1, j_1, k_1 = sch.get_loops(C)
  sch.unroll(k_0)
  sch.tensorize(C_o, "lit.tile")
CHECK-LABEL: def tile(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(8):
CHECK-NEXT:                     C[i * 2 + k, j * 8 + l] = 0.0
CHECK-NEXT:             v0 = i * 2
CHECK-NEXT:             v1 = memref.subview(A, [v0, 0], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v2 = j * 8
CHECK-NEXT:             v3 = memref.subview(B, [0, v2], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:             v4 = memref.subview(C, [v0, v2], [2, 8], [1, 1], I.type("memref<2x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v1, v3, v4, func="tile")
CHECK-NEXT:             v5 = memref.subview(A, [v0, 4], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v6 = memref.subview(B, [4, v2], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v5, v6, v4, func="tile")
CHECK-NEXT:     return
"""


@T.prim_func
def both(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8))
    for i in range(4):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)


both = """
# Two blocks with their loops, one behind the other.
on both: B C
  outer_B_C_ = sch.blockize([B, C])
  i, = sch.get_loops(outer_B_C_)
  sch.unroll(i)
CHECK-LABEL: def both(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v1 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v2 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     v3 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         v3[0, i] = A[0, i] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         C[0, i] = v3[0, i] + 1.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         v2[0, i] = A[1, i] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         C[1, i] = v2[0, i] + 1.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         v1[0, i] = A[2, i] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         C[2, i] = v1[0, i] + 1.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         v0[0, i] = A[3, i] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         C[3, i] = v0[0, i] + 1.0
CHECK-NEXT:     return
"""
