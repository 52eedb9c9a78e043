# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.bind: threads run one after the other on a CPU."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def in_order(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(32):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 if k == 0:
    # CHECK-NEXT:                     C[i, j] = 0.0
    # CHECK-NEXT:                 v0 = A[i, k]
    # CHECK-NEXT:                 v1 = B[k, j]
    # CHECK-NEXT:                 v2 = C[i, j]
    # CHECK-NEXT:                 v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                 C[i, j] = v3
    # CHECK-NEXT:     return
    @T.prim_func
    def in_order(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    'sch.bind(i, "blockIdx.x")',
                    'sch.bind(j, "threadIdx.x")',
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
