# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""What sch.pipeline refuses."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{pipeline(i): no step of 'i' copies what only this step uses, from what the loop does not write: cache_read and compute_at bring such copies there}}
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
# expected-error@+1 {{pipeline(i, 17): stages are a number from 2 to 16, got 17}}
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
# expected-error@+1 {{pipeline(i): 'i' is pipelined: steps of a serial loop can be pipelined}}
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
# expected-error@+1 {{parallel(i): 'i' is pipelined already}}
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
# expected-error@+1 {{split(i, [None, 2]): 'i' is pipelined: split it before it is made so}}
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
