# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.merge: loops of several nests become one."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def rows(
    # CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 0}):
    # CHECK-NEXT:         def bb0(arg0: T.index):
    # CHECK-NEXT:             for i in range(6):
    # CHECK-NEXT:                 C[arg0, i] = A[arg0, i] + 1.0
    # CHECK-NEXT:             for i in range(6):
    # CHECK-NEXT:                 D[arg0, i] = C[arg0, i] * 2.0
    # CHECK-NEXT:             scf.yield_()
    # CHECK-NEXT:     return
    @T.prim_func
    def rows(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'D = sch.get_block("D")',
                    "i, j = sch.get_loops(C)",
                    "i_1, j_1 = sch.get_loops(D)",
                    "m = sch.merge(i, i_1)",
                    "sch.parallel(m)",
                ]
            }
        )
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 6):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * T.float32(2)

    # Inside a loop that is one already.
    # CHECK-LABEL: def inner(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             C[i, j] = A[i, j] + 1.0
    # CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
    # CHECK-NEXT:     return
    @T.prim_func
    def inner(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'D = sch.get_block("D")',
                    "i, j = sch.get_loops(C)",
                    "i_1, j_1 = sch.get_loops(D)",
                    "m = sch.merge(i, i_1)",
                    "n = sch.merge(j, j_1)",
                ]
            }
        )
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 6):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * T.float32(2)

    # Loops around that they do not share become one each.
    # CHECK-LABEL: def deep(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             C[i, j] = A[i, j] + 1.0
    # CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
    # CHECK-NEXT:     return
    @T.prim_func
    def deep(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'D = sch.get_block("D")',
                    "i, j = sch.get_loops(C)",
                    "i_1, j_1 = sch.get_loops(D)",
                    "m = sch.merge(j, j_1)",
                ]
            }
        )
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(4, 6):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * T.float32(2)

    # Parts of a buffer at each step.
    # CHECK-LABEL: def tiles(
    # CHECK:     for i in range(2):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0 = i * 4 + j
    # CHECK-NEXT:             C[v0] = A[v0] + 1.0
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0 = i * 4
    # CHECK-NEXT:             v1 = C[v0]
    # CHECK-NEXT:             v2 = v0 + j
    # CHECK-NEXT:             D[v2] = v1 + C[v2]
    # CHECK-NEXT:     return
    @T.prim_func
    def tiles(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'D = sch.get_block("D")',
                    "i, = sch.get_loops(C)",
                    "j, = sch.get_loops(D)",
                    "i_0, i_1 = sch.split(i, [None, 4])",
                    "j_0, j_1 = sch.split(j, [None, 4])",
                    "m = sch.merge(i_0, j_0)",
                ]
            }
        )
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[vi] + T.float32(1)
        for i in range(8):
            with T.block("D"):
                vi = T.axis.spatial(8, i)
                D[vi] = C[vi // 4 * 4] + C[vi]
