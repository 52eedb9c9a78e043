# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.sample_compute_location: a random loop to which a block can move. The decision is its position."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def by_decision(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 6), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             v0[0, j] = A[i, j] + 1.0
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             D[i, j] = v0[0, j] * 2.0
    # CHECK-NEXT:     return
    @T.prim_func
    def by_decision(A: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i = sch.sample_compute_location(C, decision=0)",
                    "sch.compute_at(C, i)",
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
