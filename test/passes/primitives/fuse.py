# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.fuse: nested loops become one."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def two(
    # CHECK:     v0 = memref.collapse_shape(C, T.Buffer((128,), "float32"), reassociation=[[0, 1]])
    # CHECK-NEXT:     for i in range(128):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             if j == 0:
    # CHECK-NEXT:                 v0[i] = 0.0
    # CHECK-NEXT:             v1 = A[arith.divui(i, 32), j]
    # CHECK-NEXT:             v2 = B[j, arith.remui(i, 32)]
    # CHECK-NEXT:             v3 = v0[i]
    # CHECK-NEXT:             v4 = arith.addf(v3, arith.mulf(v1, v2, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:             v0[i] = v4
    # CHECK-NEXT:     return
    @T.prim_func
    def two(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    "i_j_fused = sch.fuse(i, j)",
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # CHECK-LABEL: def dynamic(
    # CHECK:     v0 = memref.collapse_shape(A, T.Buffer(("?",), "float32"), reassociation=[[0, 1]])
    # CHECK-NEXT:     v1 = memref.collapse_shape(B, T.Buffer(("?",), "float32"), reassociation=[[0, 1]])
    # CHECK-NEXT:     for i in range(A.shape[0] * 8):
    # CHECK-NEXT:         v2 = v0[i]
    # CHECK-NEXT:         v1[i] = v2 * v2
    # CHECK-NEXT:     return
    @T.prim_func
    def dynamic(a: T.handle, b: T.handle):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, j = sch.get_loops(B)",
                    "i_j_fused = sch.fuse(i, j)",
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

    # CHECK-LABEL: def three(
    # CHECK:     v0 = memref.collapse_shape(A, T.Buffer((24,), "float32"), reassociation=[[0, 1, 2]])
    # CHECK-NEXT:     v1 = memref.collapse_shape(B, T.Buffer((24,), "float32"), reassociation=[[0, 1, 2]])
    # CHECK-NEXT:     for i in range(24):
    # CHECK-NEXT:         v2 = v0[i]
    # CHECK-NEXT:         v1[i] = v2 * v2
    # CHECK-NEXT:     return
    @T.prim_func
    def three(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2, 3, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, j, k = sch.get_loops(B)",
                    "f = sch.fuse(i, j, k)",
                ]
            }
        )
        for i, j, k in T.grid(2, 3, 4):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vj, vk] * A[vi, vj, vk]

    # CHECK-LABEL: def one(
    # CHECK:     for i in range(8):
    # CHECK-NEXT:         v0 = A[i]
    # CHECK-NEXT:         B[i] = v0 * v0
    # CHECK-NEXT:     return
    @T.prim_func
    def one(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "f = sch.fuse(i)",
                ]
            }
        )
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * A[vi]

    # Guards stay.
    # CHECK-LABEL: def what_was_split(
    # CHECK:     for i in range(12):
    # CHECK-NEXT:         v0 = arith.remui(i, 4) + arith.divui(i, 4) * 4
    # CHECK-NEXT:         if v0 < 10:
    # CHECK-NEXT:             v1 = A[v0]
    # CHECK-NEXT:             B[v0] = v1 * v1
    # CHECK-NEXT:     return
    @T.prim_func
    def what_was_split(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "a, b = sch.split(i, [None, 4])",
                    "f = sch.fuse(a, b)",
                ]
            }
        )
        for i in range(10):
            with T.block("B"):
                vi = T.axis.spatial(10, i)
                B[vi] = A[vi] * A[vi]
