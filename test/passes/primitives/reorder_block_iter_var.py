# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.reorder_block_iter_var: the order of iters, which determines the layout of reindex's copy."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def columns_first(
    # CHECK:     v0 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(6):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0[i, j] = A[j, i]
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             C[i, j] = v0[j, i] + 1.0
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
    # CHECK-NEXT:     return
    @T.prim_func
    def columns_first(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "sch.reorder_block_iter_var(C, [1, 0])",
                    'copy = sch.reindex(C, ("read", 0))',
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
