# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.get_producers."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-error@+1 {{it gives 0 handles for 1 names}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "A, = sch.get_producers(B)",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]


# -----


@T.prim_func
# expected-error@+1 {{too many positional arguments}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'sch.get_producers("B", "C")',
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]
