# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --load-plugin=%S/../../../../test/passes/primitives/Inputs/tensor_intrins.py --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.unannotate."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i' has no annotation 'grain' (it has none)}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "sch.parallel(i)",
                'sch.unannotate(i, "grain")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i' has no annotation 'grin'; did you mean 'grain'? (it has grain)}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "sch.parallel(i)",
                'sch.annotate(i, "grain", 2)',
                'sch.unannotate(i, "grin")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'B' has no annotation 'xyz'}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'sch.annotate(B, "note", 1)',
                'sch.unannotate(B, "xyz")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'tensor_intrin' is set by tensorize and cannot be changed}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                'sch.tensorize(j, "lit.row")',
                'sch.unannotate(j, "tensor_intrin")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
