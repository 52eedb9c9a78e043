# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.unroll: each step of a loop is code."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def steps(
    # CHECK:     for i in range(3):
    # CHECK-NEXT:         v0 = i * 3
    # CHECK-NEXT:         if v0 < 8:
    # CHECK-NEXT:             v1 = A[v0]
    # CHECK-NEXT:             B[v0] = v1 * v1
    # CHECK-NEXT:         v1 = v0 + 1
    # CHECK-NEXT:         if v1 < 8:
    # CHECK-NEXT:             v2 = A[v1]
    # CHECK-NEXT:             B[v1] = v2 * v2
    # CHECK-NEXT:         v2 = v0 + 2
    # CHECK-NEXT:         if v2 < 8:
    # CHECK-NEXT:             v3 = A[v2]
    # CHECK-NEXT:             B[v2] = v3 * v3
    # CHECK-NEXT:     return
    @T.prim_func
    def steps(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "i_0, i_1 = sch.split(i, [None, 3])",
                    "sch.unroll(i_1)",
                ]
            }
        )
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * A[vi]
