# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of primitives that cache, annotate or change buffers."""

from relax_mlir.script import tir as T

annotate_buffer_access = """
on doubled_plus_one: B
  sch.annotate_buffer_access(B, 0, "both", lambda vi, vj: (vi, vj))
  error: expected 'read' or 'write', got 'both'
  sch.annotate_buffer_access(B, 0, "write", lambda vi: (vi, 0))
  error: 'B' has 2 iters, but the map of ranges takes 1
  sch.annotate_buffer_access(B, 0, "write", lambda vi, vj: (vi, vj, 1))
  error: expected a begin and an end for each of the 2 dimensions of 'B', got 3 numbers
  sch.annotate_buffer_access(B, 2, "read", lambda vi, vj: (vi, vj))
  error: 'B' reads no buffer 2
on doubled_plus_one: C
  sch.annotate_buffer_access(C, 0, "read", lambda vi, vj: (vi, vj + 1))
  error: 'C' reads 'B' at vj, which is outside of the range from vj + 1 to vj + 2
"""

cache_index = """
on repeated_reads: C
  sch.cache_index(C, "far")
  error: 'far' is no scope of memory
"""

cache_inplace = """
on plus_one_and_doubled: D
  sch.cache_inplace(D, 0, "local")
  error: 'D' does not write 'C': use cache_read
on doubled_in_place: B
  sch.cache_inplace(B, 0, "far")
  error: 'far' is no scope of memory
  sch.cache_inplace(B, 1, "local")
  error: 'B' reads no buffer 1
"""

read_at = """
on plus_one_and_doubled: C D
  i, j = sch.get_loops(C)
  sch.read_at(i, D, 0, "local")
  error: 'D' is not in 'i'
on matmul: C(i, j, k)
  sch.read_at(i, C, 2, "local")
  error: 'C' reads no buffer 2
"""

write_at = """
on matmul: C(i, j, k)
  sch.write_at(k, C, 0, "local")
  error: 'C' is not complete after one step of 'k', along which it reduces
on plus_one_and_doubled: C D
  i, j = sch.get_loops(C)
  sch.write_at(i, D, 0, "local")
  error: 'D' is not in 'i'
"""

reindex_cache_write = """
on matmul: C
  sch.reindex_cache_write(C, 0, "local", lambda i, j, k: (i, k))
  error: 'C' is used at different indices for each 'vj', but the copy has no such dimension
  sch.reindex_cache_write(C, 0, "local", lambda i, j, k: (i, j, k))
  error: 'C' depends on previous values of 'C'
"""

set_axis_separator = """
on doubled_plus_one: B
  sch.set_axis_separator(B, 0, [3])
  error: expected numbers from 0 to 2 in ascending order, got [3]
  sch.set_axis_separator(B, 0, [2, 1])
  error: expected numbers from 0 to 2 in ascending order, got [2, 1]
  sch.set_axis_separator(B, "A", [1])
  error: 'A' is a parameter in the caller's memory
"""

unsafe_set_dtype = """
on doubled_plus_one: C
  sch.unsafe_set_dtype(C, 0, "float16")
  error: 'C' is a parameter in the caller's memory: use cache_write
on doubled_plus_one: B
  sch.unsafe_set_dtype(B, 0, "float7")
  error: 'float7' is not an element type
  sch.unsafe_set_dtype(B, 0, "bool")
  error: 'B' has f32: only floats and signed integers can be converted, not i1
"""


@T.prim_func
def overlapping_tiles(A: T.Buffer((17, 8), "float32"), C: T.Buffer((16, 8), "float32")):
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


rolling_buffer = """
on three_row_sums: B
  sch.rolling_buffer(B, 0)
  error: no loop around 'B' and what reads 'B' slides over it by overlapping steps
on three_row_sums: B C(i, j)
  sch.compute_at(B, i)
  sch.rolling_buffer(C, 0)
  error: 'C' is a parameter in the caller's memory: use cache_write
  sch.compute_at(B, i)
  sch.rolling_buffer(B, 0)
  sch.rolling_buffer(B, 0)
  error: 'B' is already circular
  # A copy of a circular buffer next to its writer would cover only new elements: older ones are overwritten.
  sch.compute_at(B, j)
  sch.rolling_buffer(B, 0)
  copy = sch.cache_read(C, 0, "local")
  i_1, j_1, last = sch.get_loops(B)
  sch.reverse_compute_at(copy, last)
  error: 'B_local' would skip elements that 'B' still has: move it before rolling_buffer
on three_row_sums: B C(i_1, j_1)
  sch.compute_at(B, i_1)
  sch.rolling_buffer(B, 0)
  sch.parallel(i_1)
  error: steps of 'i_1' use values of 'B' from the previous step: schedule its loops, and 'B', before rolling_buffer
  sch.compute_at(B, i_1)
  sch.rolling_buffer(B, 0)
  sch.split(i_1, [None, 2])
  error: steps of 'i_1' use values of 'B' from the previous step
  sch.compute_at(B, i_1)
  sch.rolling_buffer(B, 0)
  sch.compute_at(B, j_1)
  error: 'B' skips elements that 'B' still has: move it before rolling_buffer
on gathered: B
  sch.rolling_buffer(B, 0)
  error: 'B' is read at computed indices
on overlapping_tiles: B
  # A step reads a row of A2 that the next one writes.
  warning: the text has no block 'A2_1'
  sch.rolling_buffer(B, 0)
  error: no loop around 'B' and what reads 'B' slides over it by overlapping steps
"""
