# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.unannotate: a loop without its grain."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def taken_off(
    # CHECK:     with scf.for_(T.index(0), T.index(8), T.index(1), attrs={"tir.parallel": 0}):
    # CHECK-NEXT:         def bb0(arg0: T.index):
    # CHECK-NEXT:             for i in range(8):
    # CHECK-NEXT:                 B[arg0, i] = A[arg0, i] * 2.0
    # CHECK-NEXT:             scf.yield_()
    # CHECK-NEXT:     return
    @T.prim_func
    def taken_off(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, j = sch.get_loops(B)",
                    "sch.parallel(i)",
                    'sch.annotate(i, "grain", 2)',
                    'sch.unannotate(i, "grain")',
                ]
            }
        )
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    # CHECK-LABEL: def others_stay(
    # CHECK:     with scf.for_(T.index(0), T.index(8), T.index(1), attrs={"tir.parallel": 2}):
    # CHECK-NEXT:         def bb0(arg0: T.index):
    # CHECK-NEXT:             for i in range(8):
    # CHECK-NEXT:                 B[arg0, i] = A[arg0, i] * 2.0
    # CHECK-NEXT:             scf.yield_()
    # CHECK-NEXT:     return
    @T.prim_func
    def others_stay(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, j = sch.get_loops(B)",
                    "sch.parallel(i)",
                    'sch.annotate(i, "grain", 2)',
                    'sch.annotate(i, "note", 3)',
                    'sch.annotate(B, "note", 3)',
                    'sch.unannotate(i, "note")',
                    'sch.unannotate(B, "note")',
                ]
            }
        )
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
