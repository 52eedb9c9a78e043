# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.set_axis_separator: a note on a buffer without an effect."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def noted(
    # CHECK:     v0 = memref.alloca(T.Buffer((8, 12), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(12):
    # CHECK-NEXT:             v0[i, j] = A[i, j] * 2.0
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(12):
    # CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def noted(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'sch.set_axis_separator(B, ("write", 0), [1])',
                ]
            }
        )
        B = T.alloc_buffer((8, 12), "float32")
        for i, j in T.grid(8, 12):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(8, 12):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
