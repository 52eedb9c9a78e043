# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --load-plugin=%S/Inputs/tensor_intrins.py --tir-apply-schedule --split-input-file --verify-diagnostics
"""The choice of sch.tensorize is final: changes of it are refused."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'i' around 'j' is vectorized, but an intrinsic has no lanes}}
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                "i, j = sch.get_loops(B)",
                "sch.vectorize(i)",
                'sch.tensorize(j, "lit.row")',
            ]
        }
    )
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


# -----


@T.prim_func
# expected-error@+1 {{'lit.tile' could no longer compute 'i_1': 'k_1' is unrolled: an intrinsic replaces serial loops}}
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
                'sch.tensorize(i_1, "lit.tile")',
                "sch.unroll(k_1)",
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
# expected-error@+1 {{'lit.row' could no longer compute 'j': the loop would be gone}}
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'B = sch.get_block("B")',
                'C = sch.get_block("C")',
                "i, j = sch.get_loops(B)",
                'sch.tensorize(j, "lit.row")',
                "sch.compute_inline(B)",
            ]
        }
    )
    B = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
