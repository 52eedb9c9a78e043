# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-plan='target=llvm{cores=4}' --tir-apply-plan='target=llvm{cores=4}' | FileCheck %s
# RUN: relax-opt %s --tir-plan='target=llvm{cores=1}' --tir-apply-plan='target=llvm{cores=1}' | FileCheck %s --check-prefix=ALONE
"""Loops without a plan: threads share a loop with steps that write distinct elements.

Results: test_schedule_unplanned.py.
"""

from relax_mlir.script import ir as I, relax as R, tir as T

# ALONE-NOT: tir.parallel


@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: func.func @powers(
    # CHECK: scf.for %[[START:[a-z0-9]+]] = %{{.*}} iter_args(%[[SO_FAR:[a-z0-9]+]] = %arg1) -> (tensor<320x400xi32>)
    # CHECK-NEXT: %[[READ:.*]] = tensor.extract_slice %arg0[%[[START]], 0] [10, 400] [1, 1]
    # CHECK-NEXT: %[[PLACE:.*]] = tensor.extract_slice %[[SO_FAR]][%[[START]], 0] [10, 400] [1, 1]
    # CHECK-NEXT: linalg.generic {{.*}} ins(%[[READ]] : tensor<10x400xi32>) outs(%[[PLACE]] : tensor<10x400xi32>)
    # CHECK: tensor.insert_slice %{{.*}} into %[[SO_FAR]][%[[START]], 0] [10, 400] [1, 1]
    # CHECK: {tir.parallel = 1 : i64}
    @T.prim_func
    def powers(A: T.Tensor((320, 400), "int32"), B: T.Tensor((320, 400), "int32")) -> T.Tensor((320, 400), "int32"):
        for i, j in T.grid(320, 400):
            power = A[i, j]
            for k in range(9):
                power = power * A[i, j]
            B[i, j] = power
        return B

    # So little is not worth it.
    # CHECK-LABEL: func.func @few(
    # CHECK-NOT: tir.parallel
    @T.prim_func
    def few(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")) -> T.Tensor((32,), "int32"):
        for i in T.grid(32):
            power = A[i]
            for k in range(9):
                power = power * A[i]
            B[i] = power
        return B
