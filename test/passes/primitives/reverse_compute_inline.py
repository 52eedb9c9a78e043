# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.reverse_compute_inline: what a block computes, where what it reads is made."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def once(
    # CHECK:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v0 = A[i, j]
    # CHECK-NEXT:             C[i, j] = v0 * v0 + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def once(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    "sch.reverse_compute_inline(C)",
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
