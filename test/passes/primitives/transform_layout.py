# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.transform_layout: how a buffer lies."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def blocked(
    # CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[arith.divui(j, 4), i, arith.remui(j, 4)] = v1 * v1
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = v0[arith.divui(j, 4), i, arith.remui(j, 4)] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def blocked(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    'sch.transform_layout(B, ("write", 0), lambda i, j: (j // 4, i, j % 4))',
                ]
            }
        )
        B = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    # CHECK-LABEL: def padded(
    # CHECK:     v0 = memref.alloca(T.Buffer((8, 2, 5), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(2):
    # CHECK-NEXT:             for k in range(5):
    # CHECK-NEXT:                 v0[i, j, k] = 0.0
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[i, arith.divui(j, 5), arith.remui(j, 5)] = v1 * v1
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = v0[i, arith.divui(j, 5), arith.remui(j, 5)] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def padded(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    'sch.transform_layout(B, ("write", 0), lambda i, j: (i, j // 5, j % 5), pad_value=0)',
                ]
            }
        )
        B = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
