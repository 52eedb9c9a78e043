# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.cache_index."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'far' is no scope of memory}}
def f(A: T.Buffer((6, 10), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                'sch.cache_index(C, "far")',
            ]
        }
    )
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi // 4 + vj // 4, vj // 2] + A[vi // 2, vj // 2]
