# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.set_axis_separator."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{expected numbers from 0 to 2 in ascending order, got [3]}}
def f(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "sch.set_axis_separator(B, 0, [3])",
            ]
        }
    )
    B = T.alloc_buffer((8, 12), "float32")
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{expected numbers from 0 to 2 in ascending order, got [2, 1]}}
def f(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "sch.set_axis_separator(B, 0, [2, 1])",
            ]
        }
    )
    B = T.alloc_buffer((8, 12), "float32")
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'A' is a parameter in the caller's memory}}
def f(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'sch.set_axis_separator(B, "A", [1])',
            ]
        }
    )
    B = T.alloc_buffer((8, 12), "float32")
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
