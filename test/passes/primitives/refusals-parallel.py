# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/Inputs/tensor_intrins.py --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of primitives that run the steps of a loop in parallel, in lanes or unrolled, and of annotations."""

from relax_mlir.script import tir as T

parallel = """
on matmul: C(i, j, k)
  sch.parallel(k)
  error: parallel(k): 'k' reduces in block 'C' (vk): steps that are shared by threads would add to the same elements; use rfactor, which creates a loop that adds to separate elements, or choose another loop
  sch.parallel(i)
  sch.parallel(j)
  error: 'i' around 'j' is already parallel: threads share one of them (fuse both)
  sch.parallel(j)
  sch.parallel(i)
  error: 'j' in 'i' is already parallel: threads share one of them (fuse both)
on squares_plus_one: C(i, j)
  u, i = sch.split(i, [1, 8], preserve_unit_iters=False)
  sch.parallel(u)
  error: block 'C' writes the same elements of 'C' at each step of 'i_1_0'
"""

vectorize = """
on matmul: C(i, j, k)
  sch.vectorize(k)
  error: vectorize(k): 'k' reduces in block 'C' (vk): steps that are lanes of vectors would add to the same elements
  sch.vectorize(j)
  sch.vectorize(i)
  error: 'j' is vectorized and nested with 'i': fuse them
  sch.vectorize(j)
  sch.vectorize(j)
  error: 'j' is already vectorized
  a = sch.fuse(i, j)
  b, c = sch.split(a, [None, 512])
  sch.vectorize(c)
  error: 'i_j_fused_1' has 512 steps, at most 256 can be lanes: split it first
on symbolic_squares: B(i, j)
  sch.vectorize(i)
  error: 'i' has A.shape[0] steps: split it by a number first, [None, 16]
on doubled: B(i, j)
  sch.tensorize(j, "lit.row")
  sch.vectorize(i)
  error: 'j' in 'i' is computed by an intrinsic, which has no lanes
on row_sums_added: Y C(i_1, j_1)
  # Lanes take turns at each k: sums would be started again in the middle.
  sch.compute_at(Y, j_1)
  sch.vectorize(j_1)
  error: 'Y' adds to the same elements in several lanes of 'j_1'
"""

unroll = """
on matmul: C(i, j, k)
  sch.unroll(k)
  sch.unroll(k)
  error: 'k' is already unrolled
  a, b = sch.split(i, [None, 20000])
  sch.unroll(b)
  error: the code would have 740016 operations, at most 65536 are allowed: choose shorter or fewer loops
on symbolic_squares: B(i, j)
  sch.unroll(i)
  error: 'i' has A.shape[0] steps: split it by a number first, [None, 4]
"""


@T.prim_func
def plus_one_4_by_8(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)


bind = """
on matmul: C(i, j, k)
  sch.bind(k, "threadIdx.x")
  error: 'k' reduces in block 'C' (vk): steps that are threads would add to the same elements
  sch.bind(i, "threadIdx.w")
  error: 'threadIdx.w' is no axis of threads; did you mean 'threadIdx.
  sch.bind(i, "vthread.x")
  error: leave virtual threads to a serial or unrolled loop
  sch.bind(i, "threadIdx.x")
  sch.bind(j, "threadIdx.x")
  error: 'i', which 'j' is nested with, is already threadIdx.x, and 'C' depends on 'i': bind it before compute_at
  sch.bind(i, "threadIdx.x")
  sch.bind(i, "threadIdx.y")
  error: 'i' is already threadIdx.x
  a, b = sch.split(j, [None, 2000])
  sch.bind(b, "threadIdx.x")
  error: these are 2000 threads in a block, 1024 at most: split 'j_1' first
on symbolic_squares: B(i, j)
  sch.bind(i, "threadIdx.x")
  error: 'i' has A.shape[0] steps: split it by a number of threads first, [None, 128]
on plus_one_4_by_8: B(i, j)
  sch.bind(i, "blockIdx.x")
  sch.bind(j, "blockIdx.x")
  error: 'i', which 'j' is nested with, is already blockIdx.x
"""

annotate = """
on doubled: B(i, j)
  sch.parallel(i)
  sch.annotate(i, "grain", "many")
  error: 'grain' must be the number of steps that a thread takes at a time, at least 1, not 'many'
  sch.parallel(i)
  sch.annotate(i, "grain", 0)
  error: at least 1, not 0
  sch.tensorize(j, "lit.row")
  sch.annotate(j, "tensor_intrin", "lit.copy")
  error: 'tensor_intrin' is set by tensorize and cannot be changed
"""
