# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.write_at: a copy of the elements that a step of a loop computes."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def rows(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 32), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(32):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 if k == 0:
    # CHECK-NEXT:                     v0[0, j] = 0.0
    # CHECK-NEXT:                 v1 = A[i, k]
    # CHECK-NEXT:                 v2 = B[k, j]
    # CHECK-NEXT:                 v3 = v0[0, j]
    # CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                 v0[0, j] = v4
    # CHECK-NEXT:         for j in range(32):
    # CHECK-NEXT:             C[i, j] = v0[0, j]
    # CHECK-NEXT:     return
    @T.prim_func
    def rows(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    'C_local = sch.write_at(i, C, 0, "local")',
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
