# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=4}' --print-script | FileCheck %s
# RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=4}' --tir-apply-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=4}' | FileCheck %s --check-prefix=APPLIED
# RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=1}' --print-script | FileCheck %s --check-prefix=ALONE
"""Parallel loops and their grains: usually the outermost loop with steps for all threads."""

from relax_mlir.script import ir as I, relax as R, tir as T

# ALONE-NOT: parallel


@I.ir_module(ssa=True)
class Module:
    # Columns, of which each thread copies its own to a panel.
    # APPLIED-LABEL: func.func @product(
    # APPLIED: scf.for
    # APPLIED-NEXT: tensor.empty() : tensor<512x64xf32>
    # APPLIED: {tir.parallel = 2 : i64}
    # APPLIED: return
    # CHECK-LABEL: def product(
    # CHECK: T.grid(512, 4096, T.reduce(512), annotations={"tir.plan": "order 1 0 2; {{.*}}; panel 1 along 2: 512; parallel 1: 128; rule matmul"}):
    @T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
    def product(
        A: T.Tensor((512, 512), "float32"), B: T.Tensor((512, 4096), "float32"), C: T.Tensor((512, 4096), "float32")
    ) -> T.Tensor((512, 4096), "float32"):
        for i, j, k in T.grid(512, 4096, T.reduce(512)):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
        return C

    # There are two steps of columns only: rows, 28 grains of them, as many for each core (32 at most).
    # APPLIED-LABEL: func.func @tall(
    # APPLIED: tensor.empty() : tensor<512x64xf32>
    # APPLIED: scf.for
    # APPLIED: {tir.parallel = 25 : i64}
    # APPLIED: return
    # CHECK-LABEL: def tall(
    # CHECK: T.grid(4096, 128, T.reduce(512), annotations={"tir.plan": "order 1 0 2; {{.*}}; parallel 0: 150; rule matmul"}):
    @T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
    def tall(
        A: T.Tensor((4096, 512), "float32"), B: T.Tensor((512, 128), "float32"), C: T.Tensor((4096, 128), "float32")
    ) -> T.Tensor((4096, 128), "float32"):
        for i, j, k in T.grid(4096, 128, T.reduce(512)):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
        return C

    # Steps of the reduction are around the columns, and would share them anew each time: blocks of columns are around.
    # CHECK-LABEL: def row(
    # CHECK: T.grid(1, 4096, T.reduce(2048), annotations={"tir.plan": "order {{.*}}; blocks 1: 128; parallel 1: 128; rule matmul"}):
    @T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
    def row(
        A: T.Tensor((1, 2048), "float32"), B: T.Tensor((2048, 4096), "float32"), C: T.Tensor((1, 4096), "float32")
    ) -> T.Tensor((1, 4096), "float32"):
        for i, j, k in T.grid(1, 4096, T.reduce(2048)):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
        return C

    # Where a size is not known, the work decides at run time.
    # APPLIED-LABEL: func.func @sums(
    # APPLIED: arith.divui
    # APPLIED: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[GRAIN:.*]] iter_args
    # APPLIED: arith.minsi %[[GRAIN]]
    # APPLIED: {tir.parallel = 1 : i64}
    # CHECK-LABEL: def sums(
    # CHECK: annotations={"tir.plan": "order 0 1; carried 1; {{.*}}; parallel 0: by work; rule reduction"}):
    @T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
    def sums(A: T.Tensor(("?", 4096), "float32"), B: T.Tensor(("?",), "float32")) -> T.Tensor(("?",), "float32"):
        for i, j in T.grid(A.shape[0], T.reduce(A.shape[1])):
            B[i] = B[i] + A[i, j]
        return B

    # No thread is woken for this.
    # CHECK-LABEL: def little(
    # CHECK-NOT: parallel
    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def little(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")) -> T.Tensor((64, 64), "float32"):
        for i, j in T.grid(64, 64):
            B[i, j] = A[i, j] + A[i, j]
        return B

    # All of it is one number: a reduction is not shared.
    # CHECK-LABEL: def total(
    # CHECK-NOT: parallel
    @T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
    def total(A: T.Tensor((4000000,), "float32"), B: T.Tensor((1,), "float32")) -> T.Tensor((1,), "float32"):
        for i, j in T.grid(1, T.reduce(4000000)):
            B[i] = B[i] + A[j]
        return B
