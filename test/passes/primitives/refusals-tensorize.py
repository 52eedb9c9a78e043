# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/Inputs/tensor_intrins.py,%S/Inputs/device_memory.py --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.tensorize, and of later changes of loops that an intrinsic replaces."""

from relax_mlir.script import tir as T


@T.prim_func
def matmul_7_steps(A: T.Buffer((4, 7), "float32"), B: T.Buffer((7, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j, k in T.grid(4, 16, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def doubled_8_by_12(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def products(A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * D[vi, vj]


@T.prim_func
def seven_inputs(
    A: T.Buffer((8,), "float32"),
    B: T.Buffer((8,), "float32"),
    C: T.Buffer((8,), "float32"),
    D: T.Buffer((8,), "float32"),
    E: T.Buffer((8,), "float32"),
    F: T.Buffer((8,), "float32"),
    G: T.Buffer((8,), "float32"),
    H: T.Buffer((8,), "float32"),
):
    for i in range(8):
        with T.block("H"):
            vi = T.axis.spatial(8, i)
            H[vi] = A[vi] + B[vi] + C[vi] + D[vi] + E[vi] + F[vi] + G[vi]


@T.prim_func
def tripled(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(3)


@T.prim_func
def half_copy(A: T.Buffer((8, 8), "float16"), B: T.Buffer((8, 8), "float16")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


@T.prim_func
def reshaped(A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 4 + vj]


@T.prim_func
def transposed(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


@T.prim_func
def times_transposed(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vj, vi]


@T.prim_func
def even_columns_copy(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj * 2]


tensorize = """
on matmul_16_columns: C(i, j, k)
  sch.tensorize(i, "lit.tils")
  error without loops: unknown tensor intrinsic 'lit.tils'; did you mean 'lit.tile'?
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.unroll(i_1)
  sch.tensorize(i_1, "lit.tile")
  error: 'i_1' is already unrolled
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.unroll(k_1)
  sch.tensorize(i_1, "lit.tile")
  error: 'lit.tile' does not compute 'i_1': 'k_1' is unrolled: an intrinsic replaces serial loops
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(j_1, "lit.tile")
  error: 2 variables of 'C' move inside of the loop, the intrinsic has 3
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(k_1, "lit.row")
  error: 'vk' is a reduction, but the intrinsic's 'vi' is spatial
on squares_plus_one: B C(i, j)
  sch.compute_at(B, i)
  sch.tensorize(i, "lit.row")
  error: 'i_1' contains 2 nodes: an intrinsic computes one block
on matmul_7_steps: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(i_1, "lit.tile")
  error: 'C' has points only where 4*k_0 + k_1 is below 7: pad the block first
on doubled_8_by_12: B(i, j)
  f = sch.fuse(i, j)
  f_0, f_1 = sch.split(f, [None, 8])
  sch.tensorize(f_1, "lit.row")
  error: 'vi' is (8*i_j_fused_0 + i_j_fused_1)//12, which does not advance one by one inside of the loop
on doubled: B(i, j)
  j_0, j_1 = sch.split(j, [None, 4])
  sch.tensorize(j_1, "lit.row")
  error: 'vj' has 4 steps, but the intrinsic's 'vi' has 8
on products: B(i, j)
  sch.tensorize(j, "lit.row")
  error: inputs and outputs of 'B' are 2 and 1, the intrinsic's 1 and 1
on seven_inputs: H(i)
  sch.tensorize(i, "lit.seven")
  error: 7 inputs are too many to compare, 6 at most
on tripled: B(i, j)
  sch.tensorize(j, "lit.row")
  error: 'B' computes A[vi, vj] * 3.0, the intrinsic A[vi] * 2.0
on half_copy: B(i, j)
  i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)
  sch.tensorize(i_1, "lit.copy")
  error: 'A' has f16, the intrinsic's 'A' has f32
on reshaped: B(i, j)
  sch.tensorize(i, "lit.copy")
  error: 'A' moves along 1 of its dimensions, the intrinsic's 'A' has 2
on transposed: B(i, j)
  i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)
  sch.tensorize(i_1, "lit.copy")
  error: 'A' is used at vj, the intrinsic's 'A' at vi
on times_transposed: B(i, j)
  i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)
  sch.tensorize(i_1, "lit.transposed")
  error: the intrinsic's 'A' would be parts of 'A' and of 'A', but it must be one part
on even_columns_copy: B(i, j)
  sch.tensorize(i, "lit.copy")
  error: 'A' is used at 2*vj, the intrinsic's 'A' at vj
on matmul: C(i, j, k)
  sch.tensorize(k, "llvm.x86.avx2.pmadd.wd", preserve_unit_iters=False)
  error: loops of one step stay, so leave preserve_unit_iters=False out
"""


@T.prim_func
def doubled_plus_one_8_by_8(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


tensorize_kept = """
# The choice of sch.tensorize is final: changes of it are refused.
on doubled: B(i, j)
  sch.vectorize(i)
  sch.tensorize(j, "lit.row")
  error: 'i' around 'j' is vectorized, but an intrinsic has no lanes
on matmul_16_columns: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(i_1, "lit.tile")
  sch.unroll(k_1)
  error without loops: 'lit.tile' could no longer compute 'i_1': 'k_1' is unrolled: an intrinsic replaces serial loops
on doubled_plus_one_8_by_8: B C
  i, j = sch.get_loops(B)
  sch.tensorize(j, "lit.row")
  sch.compute_inline(B)
  error without loops: 'lit.row' could no longer compute 'j': the loop would be gone
"""


@T.prim_func
def matmul_of_one_tile(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((2, 8), "float32")):
    for i, j, k in T.grid(2, 8, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


tensorize_device = """
# Intrinsics with operands in a device's memory.
on matmul_of_one_tile: C(i, j, k)
  sch.decompose_reduction(C, i)
  sch.tensorize(i, "lit.array")
  error: 'A' is in 'global', but the intrinsic's 'A' must be in 'lit.sram': sch.cache_read(C, "A", "lit.sram") copies it there
  # Operands of an intrinsic keep their memory.
  a = sch.cache_read(C, "A", "lit.sram")
  sch.cache_read(C, "B", "lit.sram")
  sch.decompose_reduction(C, i)
  sch.tensorize(i, "lit.array")
  sch.set_scope(a, 0, "local")
  error without loops: 'lit.array' could no longer compute 'i': 'A_lit_sram' is in 'local', but the intrinsic's 'A' must be in 'lit.sram'
"""
