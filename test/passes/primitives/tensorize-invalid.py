# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --load-plugin=%S/Inputs/tensor_intrins.py --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.tensorize."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-error@+1 {{unknown tensor intrinsic 'lit.tils'; did you mean 'lit.tile'?}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                'sch.tensorize(i, "lit.tils")',
            ]
        }
    )
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i_1' is already unrolled}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "i_0, i_1 = sch.split(i, [None, 2])",
                "j_0, j_1 = sch.split(j, [None, 8])",
                "k_0, k_1 = sch.split(k, [None, 4])",
                "sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)",
                "C_init = sch.decompose_reduction(C, k_0)",
                "sch.unroll(i_1)",
                'sch.tensorize(i_1, "lit.tile")',
            ]
        }
    )
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'lit.tile' does not compute 'i_1': 'k_1' is unrolled: an intrinsic replaces serial loops}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "i_0, i_1 = sch.split(i, [None, 2])",
                "j_0, j_1 = sch.split(j, [None, 8])",
                "k_0, k_1 = sch.split(k, [None, 4])",
                "sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)",
                "C_init = sch.decompose_reduction(C, k_0)",
                "sch.unroll(k_1)",
                'sch.tensorize(i_1, "lit.tile")',
            ]
        }
    )
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i_1' contains 2 nodes: an intrinsic computes one block}}
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(C)",
                "sch.compute_at(B, i)",
                'sch.tensorize(i, "lit.row")',
            ]
        }
    )
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'C' has points only where 4*k_0 + k_1 is below 7: pad the block first}}
def f(A: T.Buffer((4, 7), "float32"), B: T.Buffer((7, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "i_0, i_1 = sch.split(i, [None, 2])",
                "j_0, j_1 = sch.split(j, [None, 8])",
                "k_0, k_1 = sch.split(k, [None, 4])",
                "sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)",
                "C_init = sch.decompose_reduction(C, k_0)",
                'sch.tensorize(i_1, "lit.tile")',
            ]
        }
    )
    for i, j, k in T.grid(4, 16, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'vi' is (8*i_j_fused_0 + i_j_fused_1)//12, which does not advance one by one inside of the loop}}
def f(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "f = sch.fuse(i, j)",
                "f_0, f_1 = sch.split(f, [None, 8])",
                'sch.tensorize(f_1, "lit.row")',
            ]
        }
    )
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{2 variables of 'C' move inside of the loop, the intrinsic has 3}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "i_0, i_1 = sch.split(i, [None, 2])",
                "j_0, j_1 = sch.split(j, [None, 8])",
                "k_0, k_1 = sch.split(k, [None, 4])",
                "sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)",
                "C_init = sch.decompose_reduction(C, k_0)",
                'sch.tensorize(j_1, "lit.tile")',
            ]
        }
    )
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'vk' is a reduction, but the intrinsic's 'vi' is spatial}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "i_0, i_1 = sch.split(i, [None, 2])",
                "j_0, j_1 = sch.split(j, [None, 8])",
                "k_0, k_1 = sch.split(k, [None, 4])",
                "sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)",
                "C_init = sch.decompose_reduction(C, k_0)",
                'sch.tensorize(k_1, "lit.row")',
            ]
        }
    )
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'vj' has 4 steps, but the intrinsic's 'vi' has 8}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "j_0, j_1 = sch.split(j, [None, 4])",
                'sch.tensorize(j_1, "lit.row")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{inputs and outputs of 'B' are 2 and 1, the intrinsic's 1 and 1}}
def f(A: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                'sch.tensorize(j, "lit.row")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * D[vi, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{7 inputs are too many to compare, 6 at most}}
def f(
    A: T.Buffer((8,), "float32"),
    B: T.Buffer((8,), "float32"),
    C: T.Buffer((8,), "float32"),
    D: T.Buffer((8,), "float32"),
    E: T.Buffer((8,), "float32"),
    F: T.Buffer((8,), "float32"),
    G: T.Buffer((8,), "float32"),
    H: T.Buffer((8,), "float32"),
):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'H = sch.get_block("H")',
                "i, = sch.get_loops(H)",
                'sch.tensorize(i, "lit.seven")',
            ]
        }
    )
    for i in range(8):
        with T.block("H"):
            vi = T.axis.spatial(8, i)
            H[vi] = A[vi] + B[vi] + C[vi] + D[vi] + E[vi] + F[vi] + G[vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'B' computes A[vi, vj] * 3.0, the intrinsic A[vi] * 2.0}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                'sch.tensorize(j, "lit.row")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(3)


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'A' has f16, the intrinsic's 'A' has f32}}
def f(A: T.Buffer((8, 8), "float16"), B: T.Buffer((8, 8), "float16")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)",
                'sch.tensorize(i_1, "lit.copy")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'A' moves along 1 of its dimensions, the intrinsic's 'A' has 2}}
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                'sch.tensorize(i, "lit.copy")',
            ]
        }
    )
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 4 + vj]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'A' is used at vj, the intrinsic's 'A' at vi}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)",
                'sch.tensorize(i_1, "lit.copy")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{the intrinsic's 'A' would be parts of 'A' and of 'A', but it must be one part}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)",
                'sch.tensorize(i_1, "lit.transposed")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vj, vi]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'A' is used at 2*vj, the intrinsic's 'A' at vj}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 4), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                'sch.tensorize(i, "lit.copy")',
            ]
        }
    )
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj * 2]


# -----


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{loops of one step stay, so leave preserve_unit_iters=False out}}
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                'sch.tensorize(k, "llvm.x86.avx2.pmadd.wd", preserve_unit_iters=False)',
            ]
        }
    )
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
