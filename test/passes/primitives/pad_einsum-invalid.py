# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""What sch.pad_einsum refuses."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{expected 3 numbers of at least 1, one for each iter, got [4, 4]}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "sch.pad_einsum(C, [4, 4])",
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
# expected-error@+1 {{'C' has been split or moved: pad it before}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "a, b = sch.split(i, [2, 2])",
                "sch.pad_einsum(C, [8, 1, 1])",
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
# expected-error@+1 {{'C' has its init in another block: pad it before its reduction is decomposed}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "C_init = sch.decompose_reduction(C, k)",
                "sch.pad_einsum(C, [8, 1, 1])",
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
# expected-error@+1 {{its steps cannot be put together again}}
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, k = sch.get_loops(C)",
                "sch.pad_einsum(C, [1, 16])",
            ]
        }
    )
    for i, k in T.grid(8, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(1)
            C[vi] = C[vi] / A[vi, vk]
