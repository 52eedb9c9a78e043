# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.split: one loop as several."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    @T.prim_func
    def perfect(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "i_0, i_1, i_2 = sch.split(i, [4, None, 2])",
                ]
            }
        )
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * A[vi]

    @T.prim_func
    def imperfect(A: T.Buffer((61,), "float32"), B: T.Buffer((61,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "i_0, i_1 = sch.split(i, [None, 16])",
                    "sch.vectorize(i_1)",
                ]
            }
        )
        for i in range(61):
            with T.block("B"):
                vi = T.axis.spatial(61, i)
                B[vi] = A[vi] * A[vi]

    @T.prim_func
    def dynamic(a: T.handle, b: T.handle):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "i_0, i_1 = sch.split(i, [None, 16])",
                ]
            }
        )
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * A[vi]
