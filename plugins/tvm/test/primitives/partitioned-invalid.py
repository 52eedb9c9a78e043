# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of other steps after sch.loop_partition."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C_i1' runs only at some of its points: a loop around it was partitioned or pipelined}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "sch.loop_partition(i, [None, 1])",
                'C_i1 = sch.get_block("C_i1")',
                'sch.reindex(C_i1, ("write", 0))',
            ]
        }
    )
    for i, j, k in T.grid(4, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C_i1' runs only at some of its points: a loop around it was partitioned or pipelined}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "sch.loop_partition(i, [None, 1])",
                'C_i1 = sch.get_block("C_i1")',
                "i_1, j_1, k_1 = sch.get_loops(C_i1)",
                "sch.rfactor(k_1, 0)",
            ]
        }
    )
    for i, j, k in T.grid(4, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
