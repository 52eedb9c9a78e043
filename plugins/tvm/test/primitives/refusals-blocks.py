# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/../../../../test/passes/primitives/Inputs/tensor_intrins.py --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of primitives that find, split or merge blocks, and that sample decisions."""

from relax_mlir.script import tir as T

get_consumers = """
on squares: B
  X, = sch.get_consumers(B)
  error without loops: it gives 0 handles for 1 names
"""

get_output_blocks = """
on plus_one_doubled
  C, D = sch.get_output_blocks()
  error without loops: it gives 1 handles for 2 names
"""

get_producers = """
on squares: B
  A, = sch.get_producers(B)
  error without loops: it gives 0 handles for 1 names
on squares
  sch.get_producers("B", "C")
  error without loops: too many positional arguments
"""


@T.prim_func
def three_vectors(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * T.float32(2)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi] + T.float32(1)


@T.prim_func
def plus_one(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)


blockize = """
on three_vectors: B D
  outer = sch.blockize([B, D])
  error: 'i', 'i_2' are not adjacent
on plus_one: C(i, j)
  C_o = sch.blockize(j)
  sch.reorder(j, i)
  error: block 'C_o' is between them: all loops must belong to one block
  C_o = sch.blockize(j)
  sch.compute_inline(C_o)
  error: 'C_o' is a block around 'C': use one of the inner blocks
on matmul: C(i, j, k)
  outer = sch.blockize(k, preserve_unit_iters=False)
  error: loops of one step stay, so leave preserve_unit_iters=False out
"""


@T.prim_func
def padded_with_element(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(2 <= vj and vj < 12, A[vi, vj - 2], A[vi, 0])


@T.prim_func
def padded_diagonally(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj >= 2 and vi + vj >= 3 and vj < 12, A[vi, vj - 2], T.float32(0))


@T.prim_func
def padded_by_value(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(A[vi, 0] < T.float32(1), A[vi, 1], T.float32(0))


@T.prim_func
def padded_everywhere(A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(2 <= vj and vj < 2, A[vi, 0], T.float32(0))


@T.prim_func
def padded_then_masked(
    A: T.Buffer((4, 10), "float32"), C: T.Buffer((4, 16), "float32"), D: T.Buffer((4, 16), "float32")
):
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(2 <= vj and vj < 12, A[vi, vj - 2], T.float32(0))
    for i, j in T.grid(4, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.if_then_else(vi < 2, C[vi, vj], T.float32(0))


decompose_padding = """
on doubled_plus_one: B(i, j)
  sch.decompose_padding(B, i)
  error: 'B' does not choose between an element and a value, as T.if_then_else does
on padded_with_element: C(i, j)
  sch.decompose_padding(C, i)
  error: 'C' also reads memory outside of the interior: expected a constant
on padded_diagonally: C(i, j)
  sch.decompose_padding(C, i)
  error: 'C' is inside where vi + vj - 3 is not negative, which is no limit of one iter
on padded_by_value: C(i, j)
  sch.decompose_padding(C, i)
  error: the condition of 'C' is no limit of its iters only
on padded_everywhere: C(i, j)
  sch.decompose_padding(C, i)
  error: no point of 'vj' is inside: 'C' only writes the constant
on padded_then_masked: C D
  i, j = sch.get_loops(C)
  sch.decompose_padding(D, i)
  error: 'i' is not around 'D'
"""


@T.prim_func
def scaled_row_sums(A: T.Buffer((4, 8), "float32"), D: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = C[vi] * T.float32(2)


fuse_reduction_epilogue = """
on scaled_row_sums: C D
  sch.fuse_reduction_epilogue(C, D)
  error: 'D' is no addf of 'C' and one value, like a step of the reduction
on matmul_bias: C D
  i, j, k = sch.get_loops(C)
  sch.decompose_reduction(C, k)
  sch.fuse_reduction_epilogue(C, D)
  error: 'C' has no init: fuse its epilogue before its reduction is decomposed
on plus_one_and_doubled: C D
  sch.fuse_reduction_epilogue(C, D)
  error: 'C' has no init
"""


@T.prim_func
def complete_intermediate(
    A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32")
):
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)


@T.prim_func
def broadcast_columns(A: T.Buffer((8,), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi] + T.float32(1)


@T.prim_func
def even_columns(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 16), "float32")
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj * 2] + T.float32(1)


@T.prim_func
def plus_transposed(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vj, vi]


reverse_compute_inline = """
on squares_plus_one: B(i, j) C(i_1, j_1)
  sch.reverse_compute_inline(B)
  error: 'B' reads nothing from other blocks: it must read one result of one block
on doubled_row_sums: B(i, k) C(i_1)
  sch.reverse_compute_inline(C)
  error: 'B' is a reduction, which is not complete at each step: use reverse_compute_at
on transposed_reader: B(i, j) C(i_1, j_1) D(i_2, j_2)
  sch.reverse_compute_inline(C)
  error: 'D' reads 'B', too
  sch.reverse_compute_inline(D)
  error: 'D' reads
on complete_intermediate: D
  sch.reverse_compute_inline(D)
  error: 'C' is a parameter, which must be written
on broadcast_columns: C
  sch.reverse_compute_inline(C)
  error: 'C' has a loop for 'vj', which 'B' lacks
on even_columns: C
  sch.reverse_compute_inline(C)
  error: 'C' reads 'B' at 2*vj: each of its points must match one point of 'B'
on plus_transposed: C
  sch.reverse_compute_inline(C)
  error: 'C' reads several elements of 'B'
"""

loop_partition = """
on squares: B(i)
  sch.loop_partition(i, [4, 8])
  error: 'i' has 10 steps, but the factors sum to 12
  sch.loop_partition(i, [8, None, 2])
  error: 'i' has 10 steps, but the factors sum to 10
  sch.loop_partition(i, [None, None])
  error: only one factor may be None
  sch.loop_partition(i, [0, None])
  error: expected numbers of steps of at least 1, and at most one None, got [0, None]
  sch.unroll(i)
  sch.loop_partition(i, [5, 5])
  error: 'i' is already unrolled: partition it first
on symbolic_squares: B(i, j)
  sch.loop_partition(i, [5, None])
  error: which is known at run time only
"""

partitioned = """
# Other steps after sch.loop_partition.
on matmul_6_columns: C(i, j, k)
  sch.loop_partition(i, [None, 1])
  C_i1 = sch.get_block("C_i1")
  sch.reindex(C_i1, ("write", 0))
  error: 'C_i1' runs only at some of its points: a loop around it was partitioned or pipelined
  sch.loop_partition(i, [None, 1])
  C_i1 = sch.get_block("C_i1")
  i_1, j_1, k_1 = sch.get_loops(C_i1)
  sch.rfactor(k_1, 0)
  error: 'C_i1' runs only at some of its points: a loop around it was partitioned or pipelined
"""

unannotate = """
on doubled: B(i, j)
  sch.parallel(i)
  sch.unannotate(i, "grain")
  error: 'i' has no annotation 'grain' (it has none)
  sch.parallel(i)
  sch.annotate(i, "grain", 2)
  sch.unannotate(i, "grin")
  error: 'i' has no annotation 'grin'; did you mean 'grain'? (it has grain)
  sch.tensorize(j, "lit.row")
  sch.unannotate(j, "tensor_intrin")
  error: 'tensor_intrin' is set by tensorize and cannot be changed
on doubled: B
  sch.annotate(B, "note", 1)
  sch.unannotate(B, "xyz")
  error: 'B' has no annotation 'xyz'
"""

sample_compute_location = """
on plus_one_doubled: D
  sch.sample_compute_location(D)
  error: nothing reads the result of 'D'
on plus_one_and_doubled: C
  sch.sample_compute_location(C)
  error: 'C' can move to no loop around 'D'
on plus_one_doubled: C
  sch.sample_compute_location(C, decision=5)
  error: the decision 5 is none of the loops that 'C' can move to: [0, 1]
"""

sample_partitioned_tile = """
on matmul: C(i, j, k)
  sch.sample_partitioned_tile(j, 2, 1, 8, decision=[8, 4])
  error: the product of [4] is no multiple of 8
  sch.sample_partitioned_tile(j, 2, 1, 5)
  error: 32 steps cannot be split so that the inner ones are a multiple of 5
  sch.sample_partitioned_tile(j, 2, 3)
  error: partition_pos must be from 0 to 2
"""
