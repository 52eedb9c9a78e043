# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.add_unit_loop: a loop of one step, which later primitives can use."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def around_a_block(
    # CHECK:     for i in range(10):
    # CHECK-NEXT:         v0 = A[i]
    # CHECK-NEXT:         B[i] = v0 * v0
    # CHECK-NEXT:     return
    @T.prim_func
    def around_a_block(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "u = sch.add_unit_loop(B)",
                    "i, u = sch.get_loops(B)",
                    "sch.reorder(u, i)",
                ]
            }
        )
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi] * A[vi]

    # CHECK-LABEL: def around_a_loop(
    # CHECK:     for i in range(6):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             C[j, i] = A[j, i] + 1.0
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
    # CHECK-NEXT:     return
    @T.prim_func
    def around_a_loop(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j = sch.get_loops(C)",
                    "u = sch.add_unit_loop(i)",
                    "sch.reorder(j, u)",
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
