# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.rolling_buffer, and refusals after it."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{no loop around 'B' and what reads 'B' slides over it by overlapping steps}}
def f(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "sch.rolling_buffer(B, 0)",
            ]
        }
    )
    B = T.alloc_buffer((10, 8), "float32")
    for i, j in T.grid(10, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C' is a parameter in the caller's memory: use cache_write}}
def f(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.compute_at(B, i)",
                "sch.rolling_buffer(C, 0)",
            ]
        }
    )
    B = T.alloc_buffer((10, 8), "float32")
    for i, j in T.grid(10, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'B' is already circular}}
def f(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.compute_at(B, i)",
                "sch.rolling_buffer(B, 0)",
                "sch.rolling_buffer(B, 0)",
            ]
        }
    )
    B = T.alloc_buffer((10, 8), "float32")
    for i, j in T.grid(10, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{steps of 'i_1' use values of 'B' from the previous step: schedule its loops, and 'B', before rolling_buffer}}
def f(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i_1, j_1 = sch.get_loops(C)",
                "sch.compute_at(B, i_1)",
                "sch.rolling_buffer(B, 0)",
                "sch.parallel(i_1)",
            ]
        }
    )
    B = T.alloc_buffer((10, 8), "float32")
    for i, j in T.grid(10, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{steps of 'i_1' use values of 'B' from the previous step}}
def f(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i_1, j_1 = sch.get_loops(C)",
                "sch.compute_at(B, i_1)",
                "sch.rolling_buffer(B, 0)",
                "sch.split(i_1, [None, 2])",
            ]
        }
    )
    B = T.alloc_buffer((10, 8), "float32")
    for i, j in T.grid(10, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'B' skips elements that 'B' still has: move it before rolling_buffer}}
def f(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i_1, j_1 = sch.get_loops(C)",
                "sch.compute_at(B, i_1)",
                "sch.rolling_buffer(B, 0)",
                "sch.compute_at(B, j_1)",
            ]
        }
    )
    B = T.alloc_buffer((10, 8), "float32")
    for i, j in T.grid(10, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'B' is read at computed indices}}
def f(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int64"), C: T.Buffer((8,), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "sch.rolling_buffer(B, 0)",
            ]
        }
    )
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[I[vi]]


# -----


# A step reads a row of A2 that the next one writes.
@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{no loop around 'B' and what reads 'B' slides over it by overlapping steps}}
def f(A: T.Buffer((17, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    T.func_attr({"tir.schedule": ["# schedule 1", 'B = sch.get_block("B")', "sch.rolling_buffer(B, 0)"]})
    A2 = T.alloc_buffer((17, 8), "float32")
    B = T.alloc_buffer((17, 8), "float32")
    for i in range(4):
        for i1, j in T.grid(4, 8):
            with T.block("A2"):
                vi = T.axis.spatial(17, i * 4 + i1)
                vj = T.axis.spatial(8, j)
                A2[vi, vj] = A[vi, vj] * T.float32(2)
        for i1, j in T.grid(5, 8):
            with T.block("B"):
                vi = T.axis.spatial(17, i * 4 + i1)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A2[vi, vj] + T.float32(1)
        for i1, j in T.grid(5, 8):
            with T.block("C"):
                vi = T.axis.spatial(16, i * 4 + i1)
                vj = T.axis.spatial(8, j)
                T.where(i1 < 4)
                C[vi, vj] = B[vi, vj]


# -----


# A copy of a circular buffer next to its writer would cover only new elements: older ones are overwritten.
@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'B_local' would skip elements that 'B' still has: move it before rolling_buffer}}
def f(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.compute_at(B, j)",
                "sch.rolling_buffer(B, 0)",
                'copy = sch.cache_read(C, 0, "local")',
                "i_1, j_1, last = sch.get_loops(B)",
                "sch.reverse_compute_at(copy, last)",
            ]
        }
    )
    B = T.alloc_buffer((10, 8), "float32")
    for i, j in T.grid(10, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
