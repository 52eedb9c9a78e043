# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.fuse_reduction_epilogue."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'D' is no addf of 'C' and one value, like a step of the reduction}}
def f(A: T.Buffer((4, 8), "float32"), D: T.Buffer((4,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                'D = sch.get_block("D")',
                "sch.fuse_reduction_epilogue(C, D)",
            ]
        }
    )
    C = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C' has no init: fuse its epilogue before its reduction is decomposed}}
def f(
    A: T.Buffer((4, 8), "float32"),
    B: T.Buffer((8, 32), "float32"),
    bias: T.Buffer((32,), "float32"),
    D: T.Buffer((4, 32), "float32"),
):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                'D = sch.get_block("D")',
                "i, j, k = sch.get_loops(C)",
                "sch.decompose_reduction(C, k)",
                "sch.fuse_reduction_epilogue(C, D)",
            ]
        }
    )
    C = T.alloc_buffer((4, 32), "float32")
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(4, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C' has no init}}
def f(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                'D = sch.get_block("D")',
                "sch.fuse_reduction_epilogue(C, D)",
            ]
        }
    )
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * T.float32(2)
