# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.get_loops: the loops around a block, outermost first."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def outermost_first(
    # CHECK:     for i in range(3):
    # CHECK-NEXT:         v0 = vector.load(A, 0, i, 0, T.float32x4)
    # CHECK-NEXT:         vector.store(v0 * v0, B, 0, i, 0)
    # CHECK-NEXT:     for i in range(3):
    # CHECK-NEXT:         v0 = vector.load(A, 1, i, 0, T.float32x4)
    # CHECK-NEXT:         vector.store(v0 * v0, B, 1, i, 0)
    # CHECK-NEXT:     return
    @T.prim_func
    def outermost_first(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2, 3, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "a, b, c = sch.get_loops(B)",
                    "sch.vectorize(c)",
                    "sch.unroll(a)",
                ]
            }
        )
        for i, j, k in T.grid(2, 3, 4):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vj, vk] * A[vi, vj, vk]

    # CHECK-LABEL: def as_they_stand_now(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0 = i * 2
    # CHECK-NEXT:             v1 = vector.load(A, j, v0, T.float32x2)
    # CHECK-NEXT:             vector.store(v1 * v1, B, j, v0)
    # CHECK-NEXT:     return
    @T.prim_func
    def as_they_stand_now(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, j = sch.get_loops(B)",
                    "sch.split(j, [None, 2])",
                    "i, a, b = sch.get_loops(B)",
                    "sch.reorder(a, i)",
                    "a, i, b = sch.get_loops(B)",
                    "sch.vectorize(b)",
                ]
            }
        )
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]

    # Of a block in another one's loops.
    # CHECK-LABEL: def shared(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         v1 = A[i, 0]
    # CHECK-NEXT:         v0[0, 0] = v1 * v1
    # CHECK-NEXT:         v2 = A[i, 1]
    # CHECK-NEXT:         v0[0, 1] = v2 * v2
    # CHECK-NEXT:         v3 = A[i, 2]
    # CHECK-NEXT:         v0[0, 2] = v3 * v3
    # CHECK-NEXT:         v4 = A[i, 3]
    # CHECK-NEXT:         v0[0, 3] = v4 * v4
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def shared(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i, j = sch.get_loops(C)",
                    "sch.compute_at(B, i)",
                    "i, ax = sch.get_loops(B)",
                    "sch.unroll(ax)",
                ]
            }
        )
        B = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
