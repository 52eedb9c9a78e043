# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of primitives that find, split, merge and order loops."""

from relax_mlir.script import tir as T

get_block = """
on matmul
  D = sch.get_block("D")
  error: there is no block 'D' (there are C)
  # schedule 2
  C = sch.get_block("C")
  error without loops: the first line of a schedule is its version: expected '# schedule 1', found '# schedule 2'
  C = sch.get_blok("C")
  error without loops: line 2 of the schedule, 'C = sch.get_blok("C")': unknown schedule primitive 'get_blok'; did you mean 'get_block'?
on squares_plus_one
  B = sch.get_block("BB")
  error: there is no block 'BB'; did you mean 'B'? (there are B, C)
"""

get_loops = """
on matmul
  C = sch.get_block("C")
  i, j = sch.get_loops(C)
  error without loops: line 3 of the schedule, 'i, j = sch.get_loops(C)': it gives 3 handles for 2 names: the schedule was made for other loops
on matmul: C
  i, j, k = sch.get_loops(D)
  error without loops: no line before it gives 'D'
on matmul: C(i, j, k)
  a, = sch.get_loops(i)
  error: expected a block of this schedule, got LoopRV(function='f', name='i')
"""

add_unit_loop = """
on squares: B(i)
  a, b = sch.split(i, [None, 2])
  sch.add_unit_loop(i)
  error: loop 'i' does not exist any more
"""


@T.prim_func
def plus_itself(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    for i, j in T.grid(8, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + A[vi, vj]


split = """
on matmul: C(i, j, k)
  a, b = sch.split(k, [3, 2])
  error: split(k, [3, 2]): the factors give 6 steps, but 'k' has 8: make one of them None
  a, b = sch.split(k, [None, None])
  error: split(k, [None, None]): only one factor may be None
  a, b = sch.split(k, [None, 0])
  error: a factor must be a number of at least 1, or None, not 0
  a, b = sch.split(k, 4)
  error: expected a list of factors, like [None, 8], got 4
  sch.unroll(k)
  a, b = sch.split(k, [None, 4])
  error: 'k' is already unrolled: split it first
  a, b = sch.split(k, [None, 4])
  c, d = sch.split(k, [None, 2])
  error: loop 'k' does not exist any more: split(k, [None, 4]) removed it
  a, b = sch.split(k, [None, 3], disable_predication=True)
  error: the factors may give more steps than the 8 of 'k': blocks need a condition, so leave disable_predication=True out
on symbolic_squares: B(i, j)
  a, b = sch.split(i, [2, 4])
  error: 'i' has A.shape[0] steps: one factor must be None
on plus_itself: C(i, j)
  sch.split(i, [None, 2000000000000])
  error: the factors give 2000000000000 steps, at most 1099511627776 are allowed
"""

tile = """
on matmul: C(i, j, k)
  a, b, c, d = sch.tile(i, j, 0, 4)
  error: a factor must be a number of at least 1, or None, not 0
  a, b, c, d = sch.tile(i, i, 2, 4)
  error: 'i' is named twice
"""


@T.prim_func
def symbolic_row_sums(a: T.handle, b: T.handle):
    m = T.int64()
    n = T.int64()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i, k in T.grid(m, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


fuse = """
on matmul: C(i, j, k)
  a = sch.fuse(i, k)
  error: 'k' is not directly in 'i'
  a = sch.fuse(j, i)
  error: 'i' is not directly in 'j'
  sch.parallel(i)
  a = sch.fuse(i, j)
  error: 'i' is already parallel
  a = sch.fuse()
  error without loops: expected loops and blocks of one PrimFunc of this schedule, got those of nothing
on squares_plus_one: B(i, j) C(i_1, j_1)
  a = sch.fuse(i, j_1)
  error: 'j_1' is not directly in 'i'
on squares_plus_one: B C(i, j)
  sch.compute_at(B, i)
  sch.fuse(i, j)
  error: 'j_1' is not the only node in 'i_1': it also contains 'ax0'
on symbolic_row_sums: B(i, j)
  sch.fuse(i, j)
  error: 'B' reduces along 'j', which may have no step, but not along 'i': decompose its reduction before the loops are fused
"""


@T.prim_func
def reversed_reader(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[7 - vi] * T.float32(2)


@T.prim_func
def fewer_rows(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((3, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(3, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * T.float32(2)


@T.prim_func
def two_readers(
    A: T.Buffer((4, 6), "float32"),
    C: T.Buffer((4, 6), "float32"),
    D: T.Buffer((4, 6), "float32"),
    E: T.Buffer((4, 6), "float32"),
):
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 6):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj] * T.float32(3)


@T.prim_func
def previous_element(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = T.if_then_else(vi > 0, C[vi - 1], T.float32(0)) * T.float32(2)


@T.prim_func
def three_results(
    A: T.Buffer((4, 6), "float32"),
    C: T.Buffer((4, 6), "float32"),
    D: T.Buffer((4, 6), "float32"),
    E: T.Buffer((4, 6), "float32"),
):
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 6):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] * T.float32(3)


merge = """
on reversed_reader: C D
  i, = sch.get_loops(C)
  j, = sch.get_loops(D)
  sch.merge(i, j)
  error: 'D' needs elements of 'C' that other steps of 'i' use
on fewer_rows: C D
  i, j = sch.get_loops(C)
  i_1, j_1 = sch.get_loops(D)
  sch.merge(i, i_1)
  error: 'i_1' has 3 steps, but 'i' has 4
on two_readers: C(i, j) E(i_2, j_2)
  sch.merge(i, i_2)
  error: are not adjacent
on plus_one_and_doubled: C(i, j)
  sch.merge(i)
  error: expected two loops or more, got 1
on plus_one_and_doubled: C D
  i, j = sch.get_loops(C)
  i_1, j_1 = sch.get_loops(D)
  sch.parallel(i)
  sch.merge(i, i_1)
  error: 'i' is already parallel: merge it first
  i, j = sch.get_loops(C)
  i_1, j_1 = sch.get_loops(D)
  sch.merge(i, j_1)
  error: 'j_1' and 'i' are not nested in equally many loops
on previous_element: C D
  i, = sch.get_loops(C)
  j, = sch.get_loops(D)
  sch.merge(i, j)
  error: 'D' needs elements of 'C' that other steps of 'i' use
on three_results: C D E
  i, j = sch.get_loops(C)
  i_1, j_1 = sch.get_loops(D)
  i_2, j_2 = sch.get_loops(E)
  i_m = sch.merge(i, i_1)
  sch.merge(j, j_2)
  error: 'i_m' contains more than one loop
"""

reorder = """
on matmul: C(i, j, k)
  sch.reorder(i, i)
  error: reorder(i, i): 'i' is named twice
  sch.reorder(i, k, j)
  i_k_fused = sch.fuse(i, k)
  a, b = sch.split(i_k_fused, [None, 4])
  sch.reorder(b, a)
  error: moves both the reduction and a spatial iter of 'C': decompose the reduction before its loops run in another order
on squares_plus_one: B(i, j) C(i_1, j_1)
  sch.reorder(i, j_1)
  error: are not nested
"""

reorder_block_iter_var = """
on matmul: C
  sch.reorder_block_iter_var(C, [0, 1])
  error: expected each of 0 to 2 once, got [0, 1]
  sch.reorder_block_iter_var(C, [0, 1, 1])
  error: expected each of 0 to 2 once, got [0, 1, 1]
"""

pipeline = """
on doubled_6_by_16: C(i, j)
  sch.pipeline(i)
  error: pipeline(i): no step of 'i' copies data that only this step uses from memory that the loop does not write: cache_read and compute_at create such copies
  A_local = sch.cache_read(C, 0, "local")
  sch.compute_at(A_local, i)
  sch.pipeline(i, stages=17)
  error: pipeline(i, 17): stages must be a number from 2 to 16, got 17
  A_local = sch.cache_read(C, 0, "local")
  sch.compute_at(A_local, i)
  sch.pipeline(i)
  sch.pipeline(i)
  error: pipeline(i): 'i' is pipelined: only serial loops can be pipelined
  A_local = sch.cache_read(C, 0, "local")
  sch.compute_at(A_local, i)
  sch.pipeline(i)
  sch.parallel(i)
  error: parallel(i): 'i' is already pipelined
  A_local = sch.cache_read(C, 0, "local")
  sch.compute_at(A_local, i)
  sch.pipeline(i)
  sch.split(i, [None, 2])
  error: split(i, [None, 2]): 'i' is already pipelined: split it first
"""

sample_categorical = """
on squares
  v0 = sch.sample_categorical([2, 5], [0.5], decision=1)
  error: expected a probability for each of the numbers, got 1 for 2
  v0 = sch.sample_categorical([2, 5], [0.5, 0.5], decision=2)
  error: the decision 2 is none of the 2 numbers
  v0 = sch.sample_categorical([2, 5], [0.0, 0.0])
  error: probabilities must be at least 0, and not all 0
  v0 = sch.sample_categorical([2, 5], default=4)
  error: the default 4 is none of the numbers [2, 5]
  v0 = sch.sample_categorical([])
  error: expected at least one number
"""

sample_perfect_tile = """
on matmul: C(i, j, k)
  v0, v1 = sch.sample_perfect_tile(j, 2, decision=[8, 3])
  error: the decision [8, 3] is not 2 numbers with the product 32
  sch.sample_perfect_tile(j, 0)
  error: expected 1 to 64 factors, got n = 0
  sch.sample_perfect_tile(j, 10000000000)
  error: expected 1 to 64 factors, got n = 10000000000
  v0, v1 = sch.sample_perfect_tile(j, 2, default=[4, 4])
  error: the default [4, 4] is not 2 numbers with the product 32
  v0, v1 = sch.sample_perfect_tile(j, 2, decision=[1, 32])
  error: the last factor of [1, 32] exceeds max_innermost_factor=16
  v0, v1, v2 = sch.sample_perfect_tile(j, 3, default=[None, None, 4])
  error: has more than one None, or a factor below 1
on symbolic_squares: B(i, j)
  v0, v1 = sch.sample_perfect_tile(i, 2)
  error: which is known at run time only
"""
