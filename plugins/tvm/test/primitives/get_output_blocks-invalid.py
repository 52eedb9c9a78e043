# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.get_output_blocks."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-error@+1 {{it gives 1 handles for 2 names}}
def f(A: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                "C, D = sch.get_output_blocks()",
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
