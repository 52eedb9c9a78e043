# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_output_blocks: the blocks that write parameters."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def all_of_them(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             C[i, j] = A[i, j] + 1.0
    # CHECK-NEXT:     for i in range(6):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             D[j, i] = C[j, i] * 2.0
    # CHECK-NEXT:     return
    @T.prim_func
    def all_of_them(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    "C, D = sch.get_output_blocks()",
                    "i, j = sch.get_loops(D)",
                    "sch.reorder(j, i)",
                ]
            }
        )
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 6):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * T.float32(2)
