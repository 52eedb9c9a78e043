# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.fuse_reduction_epilogue: a reduction with the added tensor as its initial value."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def bias(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(32):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 if k == 0:
    # CHECK-NEXT:                     D[i, j] = bias[j]
    # CHECK-NEXT:                 v0 = A[i, k]
    # CHECK-NEXT:                 v1 = B[k, j]
    # CHECK-NEXT:                 v2 = D[i, j]
    # CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                 D[i, j] = v3
    # CHECK-NEXT:     return
    @T.prim_func
    def bias(
        A: T.Buffer((4, 8), "float32"),
        B: T.Buffer((8, 32), "float32"),
        bias: T.Buffer((32,), "float32"),
        D: T.Buffer((4, 32), "float32"),
    ):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'D = sch.get_block("D")',
                    "sch.fuse_reduction_epilogue(C, D)",
                ]
            }
        )
        C = T.alloc_buffer((4, 32), "float32")
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(4, 32):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + bias[vj]
