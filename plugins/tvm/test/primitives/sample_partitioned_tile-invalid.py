# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.sample_partitioned_tile."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{the product of [4] is no multiple of 8}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "sch.sample_partitioned_tile(j, 2, 1, 8, decision=[8, 4])",
            ]
        }
    )
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{32 steps cannot be split so that the inner ones are a multiple of 5}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "sch.sample_partitioned_tile(j, 2, 1, 5)",
            ]
        }
    )
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{partition_pos must be from 0 to 2}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "sch.sample_partitioned_tile(j, 2, 3)",
            ]
        }
    )
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
