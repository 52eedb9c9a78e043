# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.sample_categorical."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{expected a probability for each of the numbers, got 1 for 2}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                "v0 = sch.sample_categorical([2, 5], [0.5], decision=1)",
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
# expected-error@+1 {{the decision 2 is none of the 2 numbers}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                "v0 = sch.sample_categorical([2, 5], [0.5, 0.5], decision=2)",
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
# expected-error@+1 {{probabilities must be at least 0, and not all 0}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                "v0 = sch.sample_categorical([2, 5], [0.0, 0.0])",
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
# expected-error@+1 {{the default 4 is none of the numbers [2, 5]}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                "v0 = sch.sample_categorical([2, 5], default=4)",
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
# expected-error@+1 {{expected at least one number}}
def f(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                "v0 = sch.sample_categorical([])",
            ]
        }
    )
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = A[vi] * A[vi]
