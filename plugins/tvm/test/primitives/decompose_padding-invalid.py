# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.decompose_padding."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'B' does not choose between an element and a value, as T.if_then_else does}}
def f(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "sch.decompose_padding(B, i)",
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
# expected-error@+1 {{'C' also reads memory outside of the interior: expected a constant}}
def f(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.decompose_padding(C, i)",
            ]
        }
    )
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(2 <= vj and vj < 12, A[vi, vj - 2], A[vi, 0])


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C' is inside where vi + vj - 3 is not negative, which is no limit of one iter}}
def f(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.decompose_padding(C, i)",
            ]
        }
    )
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj >= 2 and vi + vj >= 3 and vj < 12, A[vi, vj - 2], T.float32(0))


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{the condition of 'C' is no limit of its iters only}}
def f(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.decompose_padding(C, i)",
            ]
        }
    )
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(A[vi, 0] < T.float32(1), A[vi, 1], T.float32(0))


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{no point of 'vj' is inside: 'C' only writes the constant}}
def f(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.decompose_padding(C, i)",
            ]
        }
    )
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(2 <= vj and vj < 2, A[vi, 0], T.float32(0))


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i' is not around 'D'}}
def f(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32"), D: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                'D = sch.get_block("D")',
                "i, j = sch.get_loops(C)",
                "sch.decompose_padding(D, i)",
            ]
        }
    )
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(2 <= vj and vj < 12, A[vi, vj - 2], T.float32(0))
    for i, j in T.grid(4, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.if_then_else(vi < 2, C[vi, vj], T.float32(0))
