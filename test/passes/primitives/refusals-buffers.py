# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of primitives that cache buffers, or change their layout or memory."""

from relax_mlir.script import tir as T


@T.prim_func
def merged_rows(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)


cache_read = """
on matmul: C(i, j, k)
  A_local = sch.cache_read(C, 2, "local")
  error: 'C' reads no buffer 2 (it reads 0: A, 1: B)
  A_local = sch.cache_read(C, 0, "locale")
  error: 'locale' is no scope of memory (there are global, local, shared)
  A_local = sch.cache_read(C, 0, "shared.dyn")
  error: 'shared.dyn' is no scope of memory (there are global, local, shared); use 'shared'
on merged_rows: C
  B_local = sch.cache_read(C, 0, "local")
  error: 'B' writes 'B' in the same loops, or later: cache the buffer before the loops are merged
"""


@T.prim_func
def read_before_written(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]


@T.prim_func
def sum_without_init(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def partly_written(A: T.Buffer((8,), "float32"), C: T.Buffer((9,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi + 1] = A[vi] + A[vi]


cache_write = """
on matmul: C(i, j, k)
  C_local = sch.cache_write(C, 1, "local")
  error: 'C' writes no buffer 1 (it writes 0: C)
  C_init = sch.decompose_reduction(C, i)
  C_local = sch.cache_write(C, 0, "local")
  error: 'C_init' writes 'C', too
on read_before_written: B
  B_local = sch.cache_write(B, 0, "local")
  error: 'C' reads 'B' in the same loops: cache the buffer before the loops are merged
on matmul: C
  sch.cache_write(C, 0, "register")
  error: 'register' is no scope of memory (there are global, local, shared)
  sch.cache_write(C, "D", "local")
  error: 'C' writes no buffer 'D' (it writes 0: C)
  sch.cache_write(C, -1, "local")
  error: 'C' writes no buffer -1 (it writes 0: C)
on sum_without_init: C
  sch.cache_write(C, 0, "local")
  error: 'C' depends on previous values of 'C'
on partly_written: C
  sch.cache_write(C, 0, "local")
  error: 'C' writes only a part of 'C', and the rest must keep its values
"""


@T.prim_func
def added_to_gathered(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int64"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + A[I[vi]]


reindex = """
on matmul: C
  sch.reindex(C, ("read", 5))
  error: 'C' has no read 5 (it reads 0: A, 1: B)
  sch.reindex(C, ("read", "A"))
  error: 'C' has no read A (it reads 0: A, 1: B)
  sch.reindex(C, ("of", 0))
  error: expected ('read', n) or ('write', n)
on doubled_in_place: B
  sch.reindex(B, ("write", 0))
  error: 'B' depends on previous values of 'B'
on matmul_6_columns: C
  sch.reindex(C, "D")
  error: 'C' uses 'D' 0 times: expected ('read', n) or ('write', n)
on added_to_gathered: C
  sch.reindex(C, ("read", 0))
  error: 'A' is read at computed indices
"""

reindex_cache_read = """
on matmul: C
  sch.reindex_cache_read(C, 1, "global", lambda i, j, k: (i, k))
  error: 'B' is used at different indices for each 'vj', but the copy has no such dimension
  sch.reindex_cache_read(C, 1, "global", lambda i, j: (i, j))
  error: 'C' has 3 iters, but the map takes 2
  sch.reindex_cache_read(C, 1, "global", lambda i, j, k: (j // 2, k))
  error: maps several points of 'C' to one place
"""

set_scope = """
on matmul: C(i, j, k)
  sch.set_scope(C, 0, "local")
  error: 'C' is a parameter in the caller's memory: use cache_write
on squares_plus_one: B(i, j) C(i_1, j_1)
  sch.set_scope(B, 0, "warp")
  error: 'warp' is no scope of memory (there are global, local, shared); use 'local'
on squares_plus_one: B
  sch.set_scope(B, 1, "local")
  error: 'B' writes no buffer 1 (it writes 0: B)
"""


@T.prim_func
def three_dimensions(A: T.Buffer((2, 3, 8), "float32"), C: T.Buffer((2, 3, 8), "float32")):
    B = T.alloc_buffer((2, 3, 8), "float32")
    for i, j, k in T.grid(2, 3, 8):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * T.float32(2)
    for i, j, k in T.grid(2, 3, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = B[vi, vj, vk] + T.float32(1)


storage_align = """
on doubled_plus_one: B
  sch.storage_align(B, 0, -1, 4, 1)
  error: elements of the last dimension of 'B' stay contiguous: align an earlier axis
  sch.storage_align(B, 0, 2, 4, 1)
  error: 'B' has 2 dimensions: axis 2 is none of them
  sch.storage_align(B, 0, 0, 4, 4)
  error: expected a factor from 1 to 65536, and an offset from 0 to below it, got 4 and 4
on doubled_plus_one: C
  sch.storage_align(C, 0, 0, 4, 1)
  error: 'C' is a parameter in the caller's memory: use cache_write
on three_dimensions: B
  sch.storage_align(B, 0, 0, 4, 1)
  error: the stride of its axis 0 cannot be a multiple of 4 plus 1, as that of axis 1 is 8
"""


@T.prim_func
def matmul_plus_one(
    A: T.Buffer((4, 8), "float32"),
    B: T.Buffer((8, 32), "float32"),
    C: T.Buffer((4, 32), "float32"),
    D: T.Buffer((4, 32), "float32"),
):
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(4, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)


@T.prim_func
def symbolic_vectors(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    B = T.alloc_buffer((n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + A[vi]
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = B[vi] * B[vi]


transform_layout = """
on matmul_plus_one: D C(i, j, k)
  i_1, j_1 = sch.get_loops(D)
  i_m = sch.merge(i, i_1)
  sch.transform_layout(D, ("read", 0), lambda i, j: (j, i))
  error: 'C' writes 'C' in the same loops, or later: cache the buffer before the loops are merged
on squares_plus_one: B(i, j) C(i_1, j_1)
  sch.transform_layout(B, ("write", 0), lambda i: (i,))
  error: 'B' has 2 dimensions, but the map takes 1
  sch.transform_layout(B, ("write", 0), lambda i, j: (i,))
  error: lambda i, j: (i,) maps several elements of 'B' (8, 8) to the same place
  sch.transform_layout(B, ("write", 0), lambda i, j: (i + 1, j))
  error: the extent of i + 1 is unknown, or it does not begin at 0
  sch.transform_layout(B, ("write", 0), lambda i, j: (j, i), pad_value="0")
  error: pad_value must be a number, not '0'
  sch.transform_layout(B, ("write", 0), lambda i, j: (i ** 2, j))
  error without loops: is no index computed from i, j with + - * // %
on gathered: B(i) C(i_1)
  sch.transform_layout(B, ("write", 0), lambda i: (i // 4, i % 4))
  error: 'B' is read at computed indices, to which lambda i: (i//4, i%4) cannot be applied
on squares_plus_one: B
  sch.transform_layout(B, 0, lambda i, j: (max(i, 3) - 3, j))
  error: maps several elements of 'B' (8, 8) to the same place
  sch.transform_layout(B, 0, lambda i, j: (min(i, 3), j))
  error: maps several elements of 'B' (8, 8) to the same place
  sch.transform_layout(B, 0, lambda i, j: (i, j, k))
  error without loops: 'k' is no index computed from i, j
on symbolic_vectors: B
  sch.transform_layout(B, 0, lambda i: (i % 64,))
  error: lambda i: (i%64,) maps several elements of 'B' (A.shape[0]) to the same place
"""

transform_block_layout = """
on matmul_6_columns: C
  sch.transform_block_layout(C, lambda i, j: (j, i))
  error: 'C' has 3 iters, but the map takes 2
  sch.transform_block_layout(C, lambda i, j, k: (i * 5 + j, k))
  error: lambda i, j, k: (5*i + j, k) does not split and fuse iters of 'C' (4, 6, 8) without a remainder
  sch.transform_block_layout(C, lambda i, j, k: (i, j // 4, j % 4, k))
  error: lambda i, j, k: (i, j//4, j%4, k) does not split and fuse iters of 'C' (4, 6, 8) without a remainder
  sch.transform_block_layout(C, lambda i, j, k: (i, j * 8 + k))
  error: 8*vj + vk mixes spatial iters of 'C' with iters of its reduction
on matmul_6_columns: C(i, j, k)
  sch.split(i, [None, 2])
  sch.transform_block_layout(C, lambda i, j, k: (j, i, k))
  error: 'C' has been split or moved: transform it first
  sch.parallel(i)
  sch.transform_block_layout(C, lambda i, j, k: (j, i, k))
  error: 'i' is already parallel
"""
