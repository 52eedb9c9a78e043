# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --load-plugin=%S/Inputs/device_memory.py --tir-apply-schedule --split-input-file --verify-diagnostics
"""Refusals of sch.tensorize for intrinsics with operands in a device's memory."""

from relax_mlir.script import ir as I, tir as T


@T.prim_func
# expected-note@+2 {{the loops as they stand}}
# expected-error@+1 {{'A' is in 'global', but the intrinsic's 'A' must be in 'lit.sram': sch.cache_read(C, "A", "lit.sram") copies it there}}
def f(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((2, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                "sch.decompose_reduction(C, i)",
                'sch.tensorize(i, "lit.array")',
            ]
        }
    )
    for i, j, k in T.grid(2, 8, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# -----


# Operands of an intrinsic keep their memory.
@T.prim_func
# expected-error@+1 {{'lit.array' could no longer compute 'i': 'A_lit_sram' is in 'local', but the intrinsic's 'A' must be in 'lit.sram'}}
def f(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((2, 8), "float32")):
    T.func_attr(
        {
            "tir.schedule": [
                "# schedule 1",
                'C = sch.get_block("C")',
                "i, j, k = sch.get_loops(C)",
                'a = sch.cache_read(C, "A", "lit.sram")',
                'sch.cache_read(C, "B", "lit.sram")',
                "sch.decompose_reduction(C, i)",
                'sch.tensorize(i, "lit.array")',
                'sch.set_scope(a, 0, "local")',
            ]
        }
    )
    for i, j, k in T.grid(2, 8, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
