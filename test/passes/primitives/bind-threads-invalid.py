# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule=threads=true --split-input-file --verify-diagnostics
"""Requirements of sch.bind for loops that become kernels."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-error@+1 {{@f: 'j' is blockIdx.x: loops over blocks must be outermost and nested in each other, to be a kernel}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                'sch.bind(j, "blockIdx.x")',
                "a, b = sch.split(i, [None, 2])",
                'sch.bind(b, "threadIdx.x")',
            ]
        }
    )
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]


# -----


@T.prim_func
# expected-error@+1 {{@f: a kernel needs static sizes for 'B', not (1, A.shape[1])}}
def f(a: T.handle, c: T.handle):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                'sch.bind(i, "blockIdx.x")',
                "sch.compute_at(B, i)",
                "j_0, j_1 = sch.split(j, [None, 32])",
                'sch.bind(j_1, "threadIdx.x")',
            ]
        }
    )
    n = T.int64()
    A = T.match_buffer(a, (4, n), "float32")
    C = T.match_buffer(c, (4, n), "float32")
    B = T.alloc_buffer((4, n), "float32")
    for i, j in T.grid(4, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(4, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
