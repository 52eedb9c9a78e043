# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.set_scope: small memory of a scope is on the stack."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def local(
    # CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[0, j] = v1 * v1
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def local(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    'sch.set_scope(B, 0, "local")',
                    "sch.compute_at(B, i_1)",
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

    # CHECK-LABEL: def by_name(
    # CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[i, j] = v1 * v1
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def by_name(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'sch.set_scope(B, "B", "global")',
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
