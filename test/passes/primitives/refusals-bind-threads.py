# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule=threads=true --split-input-file --verify-diagnostics
"""Refusals of kernels: their loops are bound to threads of a GPU."""

from relax_mlir.script import tir as T


@T.prim_func
def symbolic_columns(a: T.handle, c: T.handle):
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


bind_threads = """
on squares_4_by_8: B(i, j)
  sch.bind(j, "blockIdx.x")
  a, b = sch.split(i, [None, 2])
  sch.bind(b, "threadIdx.x")
  error without loops: @f: 'j' is blockIdx.x: loops over blocks must be outermost and nested in each other, to be a kernel
on symbolic_columns: B C(i, j)
  sch.bind(i, "blockIdx.x")
  sch.compute_at(B, i)
  j_0, j_1 = sch.split(j, [None, 32])
  sch.bind(j_1, "threadIdx.x")
  error without loops: @f: a kernel needs static sizes for 'B', not (1, A.shape[1])
"""
