# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_producers: the blocks that compute a block's input."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def moved_by_them(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             D[i, j] = (A[i, j] + 1.0) * 2.0
    # CHECK-NEXT:     return
    @T.prim_func
    def moved_by_them(A: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'D = sch.get_block("D")',
                    "C, = sch.get_producers(D)",
                    "sch.compute_inline(C)",
                ]
            }
        )
        C = T.alloc_buffer((4, 6), "float32")
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 6):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * T.float32(2)
