# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-use-schedules=file=%S/Inputs/kernels.py --tir-apply-schedule --print-script | FileCheck %s
# RUN: not relax-opt %s --tir-use-schedules=file=%S/Inputs/none.py 2>&1 | FileCheck %s --check-prefix=NONE
"""tir-use-schedules: schedules of a file for PrimFuncs replace their own schedules."""

from relax_mlir.script import ir as I, tir as T

# NONE: none.py: cannot be read: No such file or directory


@I.ir_module
class Module:
    # CHECK-LABEL: def doubled(
    # CHECK:     for i in range(4):
    # CHECK-NEXT:         for j in range(2):
    @T.prim_func
    def doubled(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr(
            {"tir.schedule": ["# schedule 1", 'B = sch.get_block("B")', "(i,) = sch.get_loops(B)", "sch.vectorize(i)"]}
        )
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + A[vi]

    # CHECK-LABEL: def squared(
    # CHECK:     vector.load(A, T.index(0), T.float32x8)
    @T.prim_func
    def squared(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr(
            {"tir.schedule": ["# schedule 1", 'B = sch.get_block("B")', "(i,) = sch.get_loops(B)", "sch.vectorize(i)"]}
        )
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * A[vi]
