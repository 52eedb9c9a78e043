# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.unsafe_set_dtype."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C' is a parameter in the caller's memory: use cache_write}}
def f(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                'sch.unsafe_set_dtype(C, 0, "float16")',
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
# expected-error@+1 {{'float7' is not an element type}}
def f(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'sch.unsafe_set_dtype(B, 0, "float7")',
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
# expected-error@+1 {{'B' has f32: only floats and signed integers can be converted, not i1}}
def f(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'sch.unsafe_set_dtype(B, 0, "bool")',
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
