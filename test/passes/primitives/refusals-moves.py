# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of primitives that move a block to a loop, or into another block."""

from relax_mlir.script import tir as T


@T.prim_func
def unread_squares(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def running_sums(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + A[vi, vk]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi, 0] + T.float32(1)


@T.prim_func
def updated_between(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    X = T.alloc_buffer((8, 8), "float32")
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = X[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = X[vi, vj] * T.float32(3)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + X[vi, vj]


@T.prim_func
def updated_input(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = C[vi, vj] + T.float32(3)


compute_at = """
on squares_plus_one: B(i, j) C(i_1, j_1)
  sch.compute_at(C, i)
  error: compute_at(C, i): 'C' is a parameter, which must be complete: use reverse_compute_at
  sch.compute_at(B, i)
  error: 'B' is already in 'i'
  sch.compute_at(B, i_1, index=3)
  error: index 3 is after the first consumer: 0 at most
on transposed_reader: B(i, j) C(i_1, j_1) D(i_2, j_2)
  sch.compute_at(B, i_1)
  error: 'D' needs 'B', too, and is not in 'i_1'
on doubled_row_sums: B(i, k) C(i_1)
  B_init = sch.decompose_reduction(B, k)
  sch.compute_at(B, i_1)
  error: 'B' is written by 'B_init', too
on unread_squares: B C(i, j)
  sch.compute_at(B, i)
  error: nothing in 'i_1' needs the result of 'B'
on running_sums: B C(i)
  sch.compute_at(B, i)
  error: 'B' depends on previous values of 'B': it can run only once; move it before its reduction is decomposed, or give it an init
on updated_between: B C(i, j)
  sch.compute_at(B, i)
  error: 'B' cannot pass block 'update', which writes 'X'
on updated_input: B C update
  i, j = sch.get_loops(C)
  sch.reverse_compute_at(update, i)
  sch.compute_at(B, i)
  error: 'B' cannot pass block 'update', which writes 'A'
on row_sums_added: Y C(i_1, j_1)
  # Lanes take turns at each k: sums would be started again in the middle.
  sch.vectorize(j_1)
  sch.compute_at(Y, j_1)
  error: 'Y' adds to the same elements in several lanes of 'j_1'
"""


@T.prim_func
def column_sums(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, k in T.grid(8, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vk, vi]


@T.prim_func
def every_second_row(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.float32(2) * A[vi // 2, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 2, vj] + T.float32(1)


@T.prim_func
def written_in_parts(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 4):
        with T.block("part"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def neighbouring_rows(A: T.Buffer((9, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((9, 8), "float32")
    for i, j in T.grid(9, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj]


@T.prim_func
def read_between(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def read_before(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    X = T.alloc_buffer((8, 8), "float32")
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = C[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = X[vi, vj] + A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def mirrored_columns(A: T.Buffer((12, 30), "float32"), C: T.Buffer((12, 30), "float32")):
    B = T.alloc_buffer((12, 30), "float32")
    for i, j in T.grid(12, 30):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(12, 30):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi, 29 - vj]


reverse_compute_at = """
on squares_plus_one: B(i, j) C(i_1, j_1)
  sch.reverse_compute_at(C, i_1)
  error: 'C' is already in 'i_1'
  sch.reverse_compute_at(B, i_1)
  error: nothing in 'i_1' writes what 'B' reads
  sch.reverse_compute_at(C, i, index=0)
  error: index 0 is before the last producer: 1 at least, 1 at most
on doubled_row_sums: B(i, k) C(i_1)
  sch.reverse_compute_at(C, k)
  error: 'B' is not complete after one step of 'j', along which it reduces
on gathered: B(i) C(i_1)
  sch.reverse_compute_at(C, i)
  error: 'C' reads at computed indices: it needs the complete buffer
on column_sums: B(i, j) C
  sch.reverse_compute_at(C, i)
  error: 'C' reduces along 'vj', but one step of 'i' writes only a part of it
on every_second_row: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i)
  error: 'C' reads at 2*vi, but one step of 'i' writes only a part: it must be whole points of one iter
on written_in_parts: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i)
  error: 'part' writes 'B', too, and is not in 'i'
on neighbouring_rows: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i)
  error: 'C' reads more of 'B' than one step of 'i' writes
on read_between: B C
  i, j = sch.get_loops(B)
  sch.reverse_compute_at(C, i)
  error: 'C' cannot pass block 'D', which reads 'C'
on read_before: X B C
  i, j = sch.get_loops(B)
  sch.compute_at(X, i)
  sch.reverse_compute_at(C, i)
  error: 'C' cannot pass block 'X', which reads 'C'
on mirrored_columns: B C
  # A step makes a part of a line, and not where another one begins.
  i, j = sch.get_loops(B)
  i_j_fused = sch.fuse(i, j)
  i_j_fused_0, i_j_fused_1 = sch.split(i_j_fused, [None, 4])
  sch.reverse_compute_at(C, i_j_fused_0)
  error: the part of 'B' that one step of 'i_j_fused_0' writes is no range in each dimension, which 'C' could read
  # A step makes every tenth element.
  i, j = sch.get_loops(B)
  j_0, j_1 = sch.split(j, [None, 10])
  sch.reorder(j_1, j_0)
  sch.reverse_compute_at(C, j_1)
  error: the part of 'B' that one step of 'j_1_1' writes is no range in each dimension, which 'C' could read
"""


@T.prim_func
def gathered_pairs(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int64"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi // 2] * A[vi // 2]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[I[vi]]


@T.prim_func
def two_results(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
            C[vi, vj] = A[vi, vj] + T.float32(2)


@T.prim_func
def added_in_place(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] + A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def shifted_columns(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 9), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj + 1] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


compute_inline = """
on squares_plus_one: B(i, j) C(i_1, j_1)
  sch.compute_inline(C)
  error: 'C' is a parameter, which must be written
on doubled_row_sums: B(i, k) C(i_1)
  sch.compute_inline(B)
  error: 'B' is a reduction: use compute_at
on gathered_pairs: B(i) C(i_1)
  sch.compute_inline(B)
  error: 'B' is read at computed indices, at which 'B' cannot be evaluated
on two_results: B
  sch.compute_inline(B)
  error: 'B' has 2 outputs: only a block with one output can be inlined
on added_in_place: update
  sch.compute_inline(update)
  error: 'update' depends on previous values of 'B': it can run only once
on written_in_parts: B
  sch.compute_inline(B)
  error: 'B' is written by 'part', too
on shifted_columns: B
  sch.compute_inline(B)
  error: 'B' writes at [vi, vj + 1], but the indices must be its iters
on updated_between: B
  sch.compute_inline(B)
  error: 'B' cannot pass block 'update', which writes 'X'
"""
