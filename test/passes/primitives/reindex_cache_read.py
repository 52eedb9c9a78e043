# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.reindex_cache_read: a copy at the indices of a map of a block's iters."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def panels(
    # CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 16), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(32):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v0[arith.divui(i, 16), j, arith.remui(i, 16)] = B[j, i]
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(32):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 if k == 0:
    # CHECK-NEXT:                     C[i, j] = 0.0
    # CHECK-NEXT:                 v1 = A[i, k]
    # CHECK-NEXT:                 v2 = v0[arith.divui(j, 16), k, arith.remui(j, 16)]
    # CHECK-NEXT:                 v3 = C[i, j]
    # CHECK-NEXT:                 v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                 C[i, j] = v4
    # CHECK-NEXT:     return
    @T.prim_func
    def panels(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    'B_panels = sch.reindex_cache_read(C, 1, "global", lambda i, j, k: (j // 16, k, j % 16))',
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
