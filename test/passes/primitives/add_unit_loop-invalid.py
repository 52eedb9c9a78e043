# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.add_unit_loop."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{loop 'i' does not exist any more}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, = sch.get_loops(B)",
                "a, b = sch.split(i, [None, 2])",
                "sch.add_unit_loop(i)",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]
