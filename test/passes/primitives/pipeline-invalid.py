# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.pipeline."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{pipeline(i): no step of 'i' copies data that only this step uses from memory that the loop does not write: cache_read and compute_at create such copies}}
def f(A: T.Buffer((6, 16), "float32"), C: T.Buffer((6, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.pipeline(i)",
            ]
        }
    )
    for i, j in T.grid(6, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{pipeline(i, 17): stages must be a number from 2 to 16, got 17}}
def f(A: T.Buffer((6, 16), "float32"), C: T.Buffer((6, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                'A_local = sch.cache_read(C, 0, "local")',
                "sch.compute_at(A_local, i)",
                "sch.pipeline(i, stages=17)",
            ]
        }
    )
    for i, j in T.grid(6, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{pipeline(i): 'i' is pipelined: only serial loops can be pipelined}}
def f(A: T.Buffer((6, 16), "float32"), C: T.Buffer((6, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                'A_local = sch.cache_read(C, 0, "local")',
                "sch.compute_at(A_local, i)",
                "sch.pipeline(i)",
                "sch.pipeline(i)",
            ]
        }
    )
    for i, j in T.grid(6, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{parallel(i): 'i' is already pipelined}}
def f(A: T.Buffer((6, 16), "float32"), C: T.Buffer((6, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                'A_local = sch.cache_read(C, 0, "local")',
                "sch.compute_at(A_local, i)",
                "sch.pipeline(i)",
                "sch.parallel(i)",
            ]
        }
    )
    for i, j in T.grid(6, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{split(i, [None, 2]): 'i' is already pipelined: split it first}}
def f(A: T.Buffer((6, 16), "float32"), C: T.Buffer((6, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                'A_local = sch.cache_read(C, 0, "local")',
                "sch.compute_at(A_local, i)",
                "sch.pipeline(i)",
                "sch.split(i, [None, 2])",
            ]
        }
    )
    for i, j in T.grid(6, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
