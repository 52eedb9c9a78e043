# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.parallel: threads share a loop's steps."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def rows(
    # CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 0}):
    # CHECK-NEXT:         def bb0(arg0: T.index):
    # CHECK-NEXT:             for i in range(32):
    # CHECK-NEXT:                 for j in range(8):
    # CHECK-NEXT:                     if j == 0:
    # CHECK-NEXT:                         C[arg0, i] = 0.0
    # CHECK-NEXT:                     v0 = A[arg0, j]
    # CHECK-NEXT:                     v1 = B[j, i]
    # CHECK-NEXT:                     v2 = C[arg0, i]
    # CHECK-NEXT:                     v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                     C[arg0, i] = v3
    # CHECK-NEXT:             scf.yield_()
    # CHECK-NEXT:     return
    @T.prim_func
    def rows(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    "sch.parallel(i)",
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # CHECK-LABEL: def grains(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         with scf.for_(T.index(0), T.index(32), T.index(1), attrs={"tir.parallel": 0}):
    # CHECK-NEXT:             def bb0(arg0: T.index):
    # CHECK-NEXT:                 for j in range(8):
    # CHECK-NEXT:                     if j == 0:
    # CHECK-NEXT:                         C[i, arg0] = 0.0
    # CHECK-NEXT:                     v0 = A[i, j]
    # CHECK-NEXT:                     v1 = B[j, arg0]
    # CHECK-NEXT:                     v2 = C[i, arg0]
    # CHECK-NEXT:                     v3 = arith.addf(v2, arith.mulf(v0, v1, fastmath="contract"), fastmath="contract")
    # CHECK-NEXT:                     C[i, arg0] = v3
    # CHECK-NEXT:                 scf.yield_()
    # CHECK-NEXT:     return
    @T.prim_func
    def grains(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((4, 32), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    "i, j, k = sch.get_loops(C)",
                    "sch.parallel(j)",
                ]
            }
        )
        for i, j, k in T.grid(4, 32, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # CHECK-LABEL: def open_size(
    # CHECK:     v0 = A.shape[0]
    # CHECK-NEXT:     with scf.for_(0, arith.divui(v0 + 3, 4), 1, attrs={"tir.parallel": 0}):
    # CHECK-NEXT:         def bb0(arg0: T.index):
    # CHECK-NEXT:             for i in range(4):
    # CHECK-NEXT:                 v1 = arg0 * 4 + i
    # CHECK-NEXT:                 if v1 < v0:
    # CHECK-NEXT:                     v2 = A[v1]
    # CHECK-NEXT:                     B[v1] = v2 * v2
    # CHECK-NEXT:             scf.yield_()
    # CHECK-NEXT:     return
    @T.prim_func
    def open_size(a: T.handle, b: T.handle):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "i, = sch.get_loops(B)",
                    "a, b = sch.split(i, [None, 4])",
                    "sch.parallel(a)",
                ]
            }
        )
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * A[vi]

    # Memory for one step is a thread's own.
    # CHECK-LABEL: def memory_of_a_thread(
    # CHECK:     with scf.for_(T.index(0), T.index(8), T.index(1), attrs={"tir.parallel": 0}):
    # CHECK-NEXT:         def bb0(arg0: T.index):
    # CHECK-NEXT:             v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:             for i in range(8):
    # CHECK-NEXT:                 v1 = A[arg0, i]
    # CHECK-NEXT:                 v0[0, i] = v1 * v1
    # CHECK-NEXT:             for i in range(8):
    # CHECK-NEXT:                 C[arg0, i] = v0[0, i] + 1.0
    # CHECK-NEXT:             scf.yield_()
    # CHECK-NEXT:     return
    @T.prim_func
    def memory_of_a_thread(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i, j = sch.get_loops(C)",
                    "sch.parallel(i)",
                    "sch.compute_at(B, i)",
                ]
            }
        )
        B = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
