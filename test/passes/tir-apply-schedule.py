# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""Scripts are printed as they were read, except for the changes of schedules."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # Sizes that blocks have in common are one, in whatever order they name them.
    # CHECK-LABEL: def equal_sizes(
    # CHECK:     v0 = A.shape[0]
    # CHECK-NEXT:     for i in range(v0):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = A[i, j] + B[i, j]
    # CHECK-NEXT:     for i in range(v0):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = B[i, j]
    # CHECK-NEXT:             v2 = A[i, j]
    # CHECK-NEXT:             D[i, j] = T.exp(v1) + v2
    # CHECK-NEXT:     return
    @T.prim_func
    def equal_sizes(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                ]
            }
        )
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n, 8), "float32")
        C = T.match_buffer(c, (n, 8), "float32")
        D = T.match_buffer(d, (n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vi, vj]
        for i, j in T.grid(n, 8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.exp(B[vi, vj]) + A[vi, vj]
