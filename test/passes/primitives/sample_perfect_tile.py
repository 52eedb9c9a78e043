# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.sample_perfect_tile: factors for a split. The text has the decision; else the default is taken."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def by_decision(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             for k in range(4):
    # CHECK-NEXT:                 for l in range(8):
    # CHECK-NEXT:                     if l == 0:
    # CHECK-NEXT:                         C[i, j * 4 + k] = 0.0
    # CHECK-NEXT:                     v0 = A[i, l]
    # CHECK-NEXT:                     v1 = j * 4 + k
    # CHECK-NEXT:                     v2 = B[l, v1]
    # CHECK-NEXT:                     v3 = C[i, v1]
    # CHECK-NEXT:                     v4 = arith.addf(v3, arith.mulf(v0, v2, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                     C[i, v1] = v4
    # CHECK-NEXT:     return
    @T.prim_func
    def by_decision(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    "v0, v1 = sch.sample_perfect_tile(j, 2, decision=[8, 4])",
                    "j_0, j_1 = sch.split(j, [v0, v1])",
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # CHECK-LABEL: def by_default(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(16):
    # CHECK-NEXT:             for k in range(2):
    # CHECK-NEXT:                 for l in range(8):
    # CHECK-NEXT:                     if l == 0:
    # CHECK-NEXT:                         C[i, j * 2 + k] = 0.0
    # CHECK-NEXT:                     v0 = A[i, l]
    # CHECK-NEXT:                     v1 = j * 2 + k
    # CHECK-NEXT:                     v2 = B[l, v1]
    # CHECK-NEXT:                     v3 = C[i, v1]
    # CHECK-NEXT:                     v4 = arith.addf(v3, arith.mulf(v0, v2, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                     C[i, v1] = v4
    # CHECK-NEXT:     return
    @T.prim_func
    def by_default(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    "v0, v1 = sch.sample_perfect_tile(j, 2, default=[None, 2])",
                    "j_0, j_1 = sch.split(j, [v0, v1])",
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
