# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.loop_partition."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i' has 10 steps, but the factors sum to 12}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, = sch.get_loops(B)",
                "sch.loop_partition(i, [4, 8])",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i' has 10 steps, but the factors sum to 10}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, = sch.get_loops(B)",
                "sch.loop_partition(i, [8, None, 2])",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{only one factor may be None}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, = sch.get_loops(B)",
                "sch.loop_partition(i, [None, None])",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{expected numbers of steps of at least 1, and at most one None, got [0, None]}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, = sch.get_loops(B)",
                "sch.loop_partition(i, [0, None])",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i' is already unrolled: partition it first}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, = sch.get_loops(B)",
                "sch.unroll(i)",
                "sch.loop_partition(i, [5, 5])",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{which is known at run time only}}
def f(a: T.handle, b: T.handle):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "sch.loop_partition(i, [5, None])",
            ]
        }
    )
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    for i, j in T.grid(n, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
