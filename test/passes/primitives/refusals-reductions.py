# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of primitives that change reductions."""

from relax_mlir.script import tir as T


@T.prim_func
def scaled_by_row_sums(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i, k in T.grid(8, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i, j in T.grid(8, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * B[vi]


decompose_reduction = """
on squares_plus_one: B(i, j) C(i_1, j_1)
  B_init = sch.decompose_reduction(B, i)
  error: 'B' has no init
on doubled_row_sums: B(i, k) C(i_1)
  B_init = sch.decompose_reduction(B, i_1)
  error: 'i_1' is not around 'B'
on matmul: C(i, j, k)
  sch.reorder(k, i, j)
  C_init = sch.decompose_reduction(C, i)
  error: 'k' around 'i' is a loop of the reduction: name this loop, or a loop around it
on scaled_by_row_sums: B C(i, j)
  sch.compute_at(B, j)
  i, j, k = sch.get_loops(B)
  sch.decompose_reduction(B, j)
  error: 'B' runs again at each step of 'j_1', and must start again: name a loop inside of it
"""


@T.prim_func
def sums_from_two(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(2)
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def quotients(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(1)
            C[vi] = C[vi] / A[vi, vk]


@T.prim_func
def dependent_sums(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
                C[vi] = T.float32(1)
            B[vi] = B[vi] + A[vi, vk] * C[vi]
            C[vi] = C[vi] * A[vi, vk]


@T.prim_func
def recurrent_sums(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk] * B[vi]


@T.prim_func
def sums_without_init(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def matmul_untyped_init(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    for i, j, k in T.grid(4, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


rfactor = """
on matmul: C(i, j, k)
  C_rf = sch.rfactor(i, 0)
  error: 'i' is no loop of the reduction in 'C'
  C_rf = sch.rfactor(k, 3)
  error: 'C' has 2 dimensions: factor_axis must be from -3 to 2
  C_init = sch.decompose_reduction(C, k)
  C_rf = sch.rfactor(k, 0)
  error: is in the same loops as 'C': apply rfactor before the loops are merged
  i_k = sch.reorder(i, k, j)
  i_k_fused = sch.fuse(i, k)
  C_rf = sch.rfactor(i_k_fused, 0)
  error without loops: it gives 0 handles for 1 names
  sch.reorder(i, k, j)
  i_k_fused = sch.fuse(i, k)
  C_rf = sch.rfactor(i_k_fused, 0)
  error: 'i_k_fused' moves both the reduction and a spatial iter: it was fused from both
  sch.unroll(k)
  C_rf = sch.rfactor(k, 0)
  error: 'k' is already unrolled
on sums_from_two: C(i, k)
  C_rf = sch.rfactor(k, 0)
  error: 'C' does not start from 0: each partial result would add its init
on quotients: C(i, k)
  C_rf = sch.rfactor(k, 0)
  error: partial results cannot be combined
on squares_plus_one: B C(i, j)
  sch.compute_at(B, i)
  sch.rfactor(i, 0)
  error: 'i_1' contains 2 blocks: rfactor is for one reduction
on dependent_sums: B(i, k)
  sch.rfactor(k, 0)
  error: 'B' reduces 2 outputs together, but not by a choice of the larger value
on recurrent_sums: B(i, k)
  sch.rfactor(k, 0)
  error: 'B' does not combine one value per step with 'B'
on sums_without_init: B(i, k)
  sch.rfactor(k, 0)
  error: 'B' has no init: rfactor it before its reduction is decomposed
on matmul_untyped_init: C(i, j, k)
  A_local = sch.cache_read(C, "A", "local")
  sch.compute_at(A_local, i)
  sch.pipeline(i, 2)
  C_epilogue = sch.get_block("C_epilogue")
  j_1, k_1 = sch.get_loops(C_epilogue)
  sch.rfactor(k_1, 0)
  error: 'C_epilogue' runs only at some of its points: a loop around it was partitioned or pipelined
"""


@T.prim_func
def convolution(A: T.Buffer((9,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi + vk] * B[vk]


@T.prim_func
def sum_and_product(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
                C[vi] = T.float32(1)
            B[vi] = B[vi] + A[vi, vk]
            C[vi] = C[vi] * A[vi, vk]


@T.prim_func
def gathered_rows(A: T.Buffer((10, 24), "float32"), I: T.Buffer((7,), "int64"), B: T.Buffer((7, 24), "float32")):
    for i, j in T.grid(7, 24):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[T.max(I[vi], T.int64(0)), vj]


@T.prim_func
def exponential_sums(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + T.exp(A[vi, vk])


@T.prim_func
def row_maxima(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = T.max(B[vi], A[vi, vk])


@T.prim_func
def repeated_sums(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi]


@T.prim_func
def part_of_rows(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


pad_einsum = """
on matmul: C(i, j, k)
  sch.pad_einsum(C, [4, 4])
  error: expected 3 numbers of at least 1, one for each iter, got [4, 4]
  a, b = sch.split(i, [2, 2])
  sch.pad_einsum(C, [8, 1, 1])
  error: 'C' has been split or moved: pad it first
  C_init = sch.decompose_reduction(C, k)
  sch.pad_einsum(C, [8, 1, 1])
  error: 'C' has its init in another block: pad it before its reduction is decomposed
on quotients: C(i, k)
  sch.pad_einsum(C, [1, 16])
  error: partial results cannot be combined
on convolution: C
  sch.pad_einsum(C, [4, 4])
  error: 'C' uses 'A' at vi + vj: the indices of an einsum must be iters
on sum_and_product: B
  sch.pad_einsum(B, [4, 16])
  error: 'B' is no einsum, which has one output and reads only at its iters
on gathered_rows: B
  sch.pad_einsum(B, [4, 1])
  error: 'B' is no einsum, which has one output and reads only at its iters
on exponential_sums: B
  sch.pad_einsum(B, [1, 4])
  error: 'B' is no sum of products, to which zeros would add nothing: pad no iter of its reduction
on row_maxima: B
  sch.pad_einsum(B, [1, 4])
  error: 'B' is no sum of products, to which zeros would add nothing: pad no iter of its reduction
on repeated_sums: B
  sch.pad_einsum(B, [1, 4])
  error: 'A' does not go along 'vj': 0 times an element beyond the end is not 0 if the element is infinite
on part_of_rows: B
  sch.pad_einsum(B, [1, 4])
  error: 'B' uses only a part of 'A', and no zeros follow the part
"""
