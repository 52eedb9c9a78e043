# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --llvm-order-reductions='target=llvm{cpu=x86-64-v3}' --print-script | FileCheck %s
# RUN: relax-opt %s --llvm-order-reductions='target=llvm{cpu=x86-64-v3 numerics=fast}' --print-script | FileCheck %s --check-prefix=FAST
# RUN: relax-opt %s --llvm-order-reductions='target=llvm{cpu=x86-64}' --print-script | FileCheck %s --check-prefix=FAST

from relax_mlir.script import arith, ir as I, tir as T


# The order does not depend on the machine: rows of 4 x 16 lanes, products along rows of 16, columns one by one, taps
# before channels. Maxima have an order, since 0 is as large as -0. Integers have none.
# CHECK: "tir.numerics": ["same"]
# FAST: "tir.numerics": ["fast"]
# FAST-NOT: tir.order
@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: def row_sums(
    # CHECK: "tir.order": "1 by 4 x 16 lanes"
    @T.prim_func
    def row_sums(A: T.Tensor((6, 100), "float32"), B: T.Tensor((6,), "float32")) -> T.Tensor((6,), "float32"):
        for i, j in T.grid(6, T.reduce(100)):
            B[i] = A[i, j] + B[i]
        return B

    # CHECK-LABEL: def column_sums(
    # CHECK: "tir.order": "1"
    @T.prim_func
    def column_sums(A: T.Tensor((6, 100), "float32"), B: T.Tensor((100,), "float32")) -> T.Tensor((100,), "float32"):
        for j, i in T.grid(100, T.reduce(6)):
            B[j] = A[i, j] + B[j]
        return B

    # CHECK-LABEL: def doubles(
    # CHECK: "tir.order": "1 by 4 x 8 lanes"
    @T.prim_func
    def doubles(A: T.Tensor((6, 100), "float64"), B: T.Tensor((6,), "float64")) -> T.Tensor((6,), "float64"):
        for i, j in T.grid(6, T.reduce(100)):
            B[i] = A[i, j] + B[i]
        return B

    # CHECK-LABEL: def of_rows(
    # CHECK: "tir.order": "2 by 16 lanes"
    @T.prim_func
    def of_rows(
        A: T.Tensor((6, 100), "float32"), B: T.Tensor((7, 100), "float32"), C: T.Tensor((6, 7), "float32")
    ) -> T.Tensor((6, 7), "float32"):
        for i, j, k in T.grid(6, 7, T.reduce(100)):
            C[i, j] = A[i, k] * B[j, k] + C[i, j]
        return C

    # Joined loops are in brackets.
    # CHECK-LABEL: def images(
    # CHECK: "tir.order": "(1 2) by 4 x 16 lanes"
    @T.prim_func
    def images(A: T.Tensor((6, 7, 9), "float32"), B: T.Tensor((6,), "float32")) -> T.Tensor((6,), "float32"):
        for i, j, k in T.grid(6, T.reduce(7), T.reduce(9)):
            B[i] = A[i, j, k] + B[i]
        return B

    # CHECK-LABEL: def convolution(
    # CHECK: "tir.order": "3 2"
    @T.prim_func
    def convolution(
        A: T.Tensor((4, 12), "float32"), W: T.Tensor((5, 4, 3), "float32"), B: T.Tensor((5, 10), "float32")
    ) -> T.Tensor((5, 10), "float32"):
        for o, w, c, s in T.grid(5, 10, T.reduce(4), T.reduce(3)):
            B[o, w] = A[c, w + s] * W[o, c, s] + B[o, w]
        return B

    # CHECK-LABEL: def integers(
    # CHECK-NOT: tir.order
    @T.prim_func
    def integers(A: T.Tensor((6, 100), "int32"), B: T.Tensor((6,), "int32")) -> T.Tensor((6,), "int32"):
        for i, j in T.grid(6, T.reduce(100)):
            B[i] = A[i, j] + B[i]
        return B

    # CHECK-LABEL: def maxima(
    # CHECK: "tir.order": "1 by 4 x 16 lanes"
    @T.prim_func
    def maxima(A: T.Tensor((6, 100), "float32"), B: T.Tensor((6,), "float32")) -> T.Tensor((6,), "float32"):
        for i, j in T.grid(6, T.reduce(100)):
            B[i] = arith.maximumf(A[i, j], B[i])
        return B
