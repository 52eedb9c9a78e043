# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.sample_categorical: a choice of a number. The decision is its position; else the default is taken."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def by_decision(
    # CHECK:     for i in range(2):
    # CHECK-NEXT:         for j in range(5):
    # CHECK-NEXT:             v0 = i * 5 + j
    # CHECK-NEXT:             v1 = A[v0]
    # CHECK-NEXT:             B[v0] = v1 * v1
    # CHECK-NEXT:     return
    @T.prim_func
    def by_decision(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "v0 = sch.sample_categorical([2, 5], [0.5, 0.5], decision=1)",
                    "a, b = sch.split(i, [None, v0])",
                ]
            }
        )
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi] * A[vi]

    # CHECK-LABEL: def by_default(
    # CHECK:     for i in range(5):
    # CHECK-NEXT:         for j in range(2):
    # CHECK-NEXT:             v0 = i * 2 + j
    # CHECK-NEXT:             v1 = A[v0]
    # CHECK-NEXT:             B[v0] = v1 * v1
    # CHECK-NEXT:     return
    @T.prim_func
    def by_default(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "v0 = sch.sample_categorical([5, 2], default=2)",
                    "a, b = sch.split(i, [None, v0])",
                ]
            }
        )
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi] * A[vi]
