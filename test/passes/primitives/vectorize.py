# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.vectorize: a loop's steps are lanes."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def lanes(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             if j == 0:
    # CHECK-NEXT:                 vector.store(I.const(I.attr("dense<0.000000e+00> : vector<32xf32>")), C, i, 0)
    # CHECK-NEXT:             v0 = A[i, j]
    # CHECK-NEXT:             v1 = vector.load(B, j, 0, T.float32x32)
    # CHECK-NEXT:             v2 = vector.load(C, i, 0, T.float32x32)
    # CHECK-NEXT:             v3 = arith.addf(v2, arith.mulf(vector.broadcast(v0, T.float32x32), v1, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:             vector.store(v3, C, i, 0)
    # CHECK-NEXT:     return
    @T.prim_func
    def lanes(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    "sch.reorder(k, j)",
                    "sch.vectorize(j)",
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # CHECK-LABEL: def masked(
    # CHECK:     for i in range(3):
    # CHECK-NEXT:         v0 = vector.create_mask(i * -16 + 40, T.boolx16)
    # CHECK-NEXT:         v1 = i * 16
    # CHECK-NEXT:         v2 = vector.maskedload(A, v1, v0, I.const(I.attr("dense<0.000000e+00> : vector<16xf32>")))
    # CHECK-NEXT:         vector.maskedstore(B, v1, v0, v2 * v2)
    # CHECK-NEXT:     return
    @T.prim_func
    def masked(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "i_0, i_1 = sch.split(i, [None, 16])",
                    "sch.vectorize(i_1)",
                ]
            }
        )
        for i in range(40):
            with T.block("B"):
                vi = T.axis.spatial(40, i)
                B[vi] = A[vi] * A[vi]

    # CHECK-LABEL: def apart(
    # CHECK:     for i in range(2):
    # CHECK-NEXT:         for j in range(32):
    # CHECK-NEXT:             for k in range(8):
    # CHECK-NEXT:                 if k == 0:
    # CHECK-NEXT:                     v0 = i * 2
    # CHECK-NEXT:                     C[v0, j] = 0.0
    # CHECK-NEXT:                     C[v0 + 1, j] = 0.0
    # CHECK-NEXT:                 v0 = i * 2
    # CHECK-NEXT:                 v1 = A[v0, k]
    # CHECK-NEXT:                 v2 = v0 + 1
    # CHECK-NEXT:                 v3 = vector.from_elements(v1, A[v2, k], T.float32x2)
    # CHECK-NEXT:                 v4 = B[k, j]
    # CHECK-NEXT:                 v5 = vector.from_elements(C[v0, j], C[v2, j], T.float32x2)
    # CHECK-NEXT:                 v6 = arith.addf(v5, arith.mulf(v3, vector.broadcast(v4, T.float32x2), fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                 C[v0, j] = vector.extract(v6, T.float32, static_position=(0,))
    # CHECK-NEXT:                 C[v2, j] = vector.extract(v6, T.float32, static_position=(1,))
    # CHECK-NEXT:     return
    @T.prim_func
    def apart(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    "i_0, i_1 = sch.split(i, [2, 2])",
                    "sch.vectorize(i_1)",
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
