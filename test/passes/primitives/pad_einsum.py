# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.pad_einsum: sizes that are multiples, with zeros behind."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def all_iters(
    # CHECK:     v0 = memref.alloca(T.Buffer((4, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     v1 = memref.alloca(T.Buffer((8, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     v2 = memref.alloca(T.Buffer((4, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v2[i, j] = 0.0
    # CHECK-NEXT:     for i in range(3):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             v2[i, j] = A[i, j]
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1[i, j] = 0.0
    # CHECK-NEXT:     for i in range(6):
    # CHECK-NEXT:         for j in range(5):
    # CHECK-NEXT:             v1[i, j] = B[i, j]
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 if k == 0:
    # CHECK-NEXT:                     v0[i, j] = 0.0
    # CHECK-NEXT:                 v3 = v2[i, k]
    # CHECK-NEXT:                 v4 = v1[k, j]
    # CHECK-NEXT:                 v5 = v0[i, j]
    # CHECK-NEXT:                 v6 = arith.addf(v5, arith.mulf(v3, v4, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                 v0[i, j] = v6
    # CHECK-NEXT:     for i in range(3):
    # CHECK-NEXT:         for j in range(5):
    # CHECK-NEXT:             C[i, j] = v0[i, j]
    # CHECK-NEXT:     return
    @T.prim_func
    def all_iters(A: T.Buffer((3, 6), "float32"), B: T.Buffer((6, 5), "float32"), C: T.Buffer((3, 5), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "sch.pad_einsum(C, [4, 8, 4])",
                ]
            }
        )
        for i, j, k in T.grid(3, 5, 6):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # CHECK-LABEL: def sizes_of_the_run(
    # CHECK:     v0 = A.shape[0]
    # CHECK-NEXT:     v1 = arith.divui(v0 + 3, 4) * 4
    # CHECK-NEXT:     v2 = memref.alloc(v1, T.Buffer(("?", 8), "float32"), alignment=64, segments=(1, 0))
    # CHECK-NEXT:     v3 = memref.alloc(v1, T.Buffer(("?", 8), "float32"), alignment=64, segments=(1, 0))
    # CHECK-NEXT:     for i in range(v1):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v2[i, j] = 0.0
    # CHECK-NEXT:     for i in range(v0):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v2[i, j] = A[i, j]
    # CHECK-NEXT:     for i in range(v1):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v4 = v2[i, j]
    # CHECK-NEXT:             v3[i, j] = v4 * v4
    # CHECK-NEXT:     for i in range(v0):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             B[i, j] = v3[i, j]
    @T.prim_func
    def sizes_of_the_run(a: T.handle, b: T.handle):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "sch.pad_einsum(B, [4, 1])",
                ]
            }
        )
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
