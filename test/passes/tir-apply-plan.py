# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-plan=target="llvm{vector-bytes=64 cores=1}" --tir-apply-plan=target="llvm{vector-bytes=64 cores=1}" --print-script | FileCheck %s
# RUN: relax-opt %s --tir-plan=target="llvm{vector-bytes=32 cores=1}" --tir-apply-plan=target="llvm{vector-bytes=32 cores=1}" --print-script | FileCheck %s --check-prefix=SHORT
# RUN: relax-opt %s --tir-plan=target=default --tir-apply-plan --print-script | FileCheck %s --check-prefix=DEFAULT
"""Tiles and vectors instead of linalg, according to plans: chosen ones, and handwritten ones at the end.

A sequence of transformations is clearer in MLIR's text: tir-apply-plan-upstream.mlir.
"""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Neighbouring loops are one where no operand has a gap, so that only the end of all is a part of a vector. The
    # vectors of a step are adjacent: each operation for all of them, so that none waits for its own last one.
    # CHECK-LABEL: def elementwise(
    # CHECK: ) ->
    # CHECK-NEXT: collapse_shape_0 = tensor.collapse_shape(A, T.Tensor((133,), "float32"), reassociation={{\[\[}}0, 1]])
    # CHECK-NEXT: collapse_shape_1 = tensor.collapse_shape(B, T.Tensor((133,), "float32"), reassociation={{\[\[}}0, 1]])
    # CHECK-NEXT: collapse_shape_2 = tensor.collapse_shape(C, T.Tensor((133,), "float32"), reassociation={{\[\[}}0, 1]])
    # CHECK-NEXT: for i in range(0, 128, 64):
    # CHECK-NEXT: v0 = collapse_shape_0.vload([i], T.float32x16)
    # CHECK-NEXT: v1 = collapse_shape_1.vload([i], T.float32x16)
    # CHECK-NEXT: v2 = collapse_shape_0.vload([i + 16], T.float32x16)
    # CHECK-NEXT: v3 = collapse_shape_1.vload([i + 16], T.float32x16)
    # CHECK-NEXT: v4 = collapse_shape_0.vload([i + 32], T.float32x16)
    # CHECK-NEXT: v5 = collapse_shape_1.vload([i + 32], T.float32x16)
    # CHECK-NEXT: v6 = collapse_shape_0.vload([i + 48], T.float32x16)
    # CHECK-NEXT: v7 = collapse_shape_1.vload([i + 48], T.float32x16)
    # CHECK-NEXT: v8 = v0 + v1
    # CHECK-NEXT: v9 = v2 + v3
    # CHECK-NEXT: v10 = v4 + v5
    # CHECK-NEXT: v11 = v6 + v7
    # CHECK-NEXT: collapse_shape_2.vstore(v8, [i])
    # CHECK-NEXT: collapse_shape_2.vstore(v9, [i + 16])
    # CHECK-NEXT: collapse_shape_2.vstore(v10, [i + 32])
    # CHECK-NEXT: collapse_shape_2.vstore(v11, [i + 48])
    # CHECK-NEXT: v0 = vector.create_mask(T.index(5), T.boolx16)
    # CHECK-NEXT: v1 = collapse_shape_0.vload([128], T.float32x16, mask=v0) + collapse_shape_1.vload([128], T.float32x16, mask=v0)
    # CHECK-NEXT: collapse_shape_2.vstore(v1, [128], mask=vector.create_mask(T.index(5), T.boolx16))
    # CHECK-NEXT: expand_shape_0 = tensor.expand_shape(collapse_shape_2, [7, 19], T.Tensor((7, 19), "float32"), reassociation={{\[\[}}0, 1]])
    # CHECK-NEXT: return expand_shape_0
    # SHORT-LABEL: def elementwise(
    # SHORT: vload([i], T.float32x8)
    # DEFAULT-LABEL: def elementwise(
    # DEFAULT: for i, j in T.grid(7, 19): C[i, j] = A[i, j] + B[i, j]
    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def elementwise(
        A: T.Tensor((7, 19), "float32"), B: T.Tensor((7, 19), "float32"), C: T.Tensor((7, 19), "float32")
    ) -> T.Tensor((7, 19), "float32"):
        for i, j in T.grid(7, 19):
            C[i, j] = A[i, j] + B[i, j]
        return C

    # The fill value of the output is the initial value of the sums in registers. Nothing is written before they are
    # complete.
    # CHECK-LABEL: def matmul(
    # CHECK: ) ->
    # CHECK-NEXT: for i in range(0, 60, 6):
    # CHECK-NEXT: v0 = vector.broadcast(T.float32(0.0), T.float32x16)
    # CHECK-NEXT: v1 = v0
    # CHECK: v24 = v0
    # CHECK-NEXT: for j in range(32):
    # CHECK-COUNT-24: math.fma(
    # CHECK-NOT: arith.addf
    # CHECK: C.vstore(v1, [i, 0])
    # CHECK-COUNT-22: C.vstore(
    # CHECK-NEXT: C.vstore(v24, [i + 5, 48])
    # CHECK-NEXT: return C
    @T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
    def matmul(
        A: T.Tensor((60, 32), "float32"), B: T.Tensor((32, 64), "float32"), C: T.Tensor((60, 64), "float32")
    ) -> T.Tensor((60, 64), "float32"):
        C[:] = 0.0
        for i, j, k in T.grid(60, 64, T.reduce(32)):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
        return C

    # Four partial sums along the reduction, then whole vectors, with a mask for the last one that no loop changes,
    # finally a horizontal sum.
    # CHECK-LABEL: def row_sums(
    # CHECK: ) ->
    # CHECK-NEXT: v0 = A.shape[0]
    # CHECK-NEXT: v1 = A.shape[1]
    # CHECK-NEXT: for i in range(v0):
    # CHECK-NEXT: v2 = vector.broadcast(T.float32(-0.0), T.float32x16)
    # CHECK-NEXT: v3 = v1 - arith.remui(v1, 64)
    # CHECK-NEXT: v4 = v1 - arith.remui(v1, 16)
    # CHECK-NEXT: v5 = v2
    # CHECK-NEXT: v6 = v2
    # CHECK-NEXT: v7 = v2
    # CHECK-NEXT: v8 = v2
    # CHECK-NEXT: for j in range(0, v3, 64):
    # CHECK-NEXT: v5, v6, v7, v8 = A.vload([i, j], T.float32x16) + v5, A.vload([i, j + 16], T.float32x16) + v6, A.vload([i, j + 32], T.float32x16) + v7, A.vload([i, j + 48], T.float32x16) + v8
    # CHECK-NEXT: for j in range(v3, v4, 16, carry=[v5, v6, v7, v8]):
    # CHECK-NEXT: v5 = A.vload([i, j], T.float32x16) + v5
    # CHECK-NEXT: for j in range(v4, v1, 16, carry=[v5, v6, v7, v8]):
    # CHECK-NEXT: v9 = vector.create_mask(v1 - v4, T.boolx16)
    # CHECK-NEXT: v5 = arith.select(v9, A.vload([i, j], T.float32x16, mask=v9) + v5, v5)
    # CHECK-NEXT: v9 = v5 + v7 + (v6 + v8)
    # CHECK-NEXT: v10 = vector.shuffle(v9, v9, T.float32x8, mask=(0, 1, 2, 3, 4, 5, 6, 7)) + vector.shuffle(v9, v9, T.float32x8, mask=(8, 9, 10, 11, 12, 13, 14, 15))
    # CHECK: v13 = vector.shuffle(v12, v12, T.float32x1, mask=(0,)) + vector.shuffle(v12, v12, T.float32x1, mask=(1,))
    # CHECK-NEXT: B[i] = 0.0 + vector.extract(v13, T.float32, static_position=(0,))
    # CHECK-NEXT: return B
    @T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
    def row_sums(A: T.Tensor(("?", "?"), "float32"), B: T.Tensor(("?",), "float32")) -> T.Tensor(("?",), "float32"):
        B[:] = 0.0
        for i, j in T.grid(A.shape[0], T.reduce(A.shape[1])):
            B[i] = A[i, j] + B[i]
        return B

    # The larger of two zeros is not defined. The new value is the first operand: whether it is NaN is known before the
    # rest.
    # CHECK-LABEL: def largest(
    # CHECK: v1 = arith.maximumf(A.vload([0], T.float32x16), v0, fastmath="nsz")
    @T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
    def largest(A: T.Tensor((64,), "float32"), B: T.Tensor((), "float32")) -> T.Tensor((), "float32"):
        B[()] = T.float32("-inf")
        for i in T.grid(T.reduce(64)):
            B[()] = arith.maximumf(B[()], A[i])
        return B

    # Neighbours in the result are neighbours in the table: rows are copied by vectors.
    # CHECK-LABEL: def rows(
    # CHECK: for i in range(5):
    # CHECK-NEXT: v0 = places[i]
    # CHECK: table.vload([v0, {{.*}}], T.float32x8)
    # CHECK: C.vstore({{.*}}, [i, 24])
    # CHECK-NEXT: return C
    @T.prim_func
    def rows(
        table: T.Tensor((9, 32), "float32"), places: T.Tensor((5,), "index"), C: T.Tensor((5, 32), "float32")
    ) -> T.Tensor((5, 32), "float32"):
        for i, j in T.grid(5, 32):
            C[i, j] = table[places[i], j]
        return C

    # A nest that no plan fits stays, with the reason: here, a body with a loop.
    # CHECK-LABEL: def loop_inside(
    # CHECK-NEXT: for i in T.grid(64, annotations={"tir.unplanned": "its body has a 'scf.for'"}):
    # CHECK-NEXT: v0 = A[i]
    # CHECK-NEXT: for j in range(9):
    # CHECK-NEXT: v0 = v0 * A[i]
    # CHECK-NEXT: B[i] = v0
    # CHECK-NEXT: return B
    @T.prim_func
    def loop_inside(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")) -> T.Tensor((64,), "int32"):
        for i in T.grid(64):
            power = A[i]
            for k in range(9):
                power = power * A[i]
            B[i] = power
        return B

    # Other functions than PrimFuncs stay unchanged.
    # CHECK-LABEL: def other(
    # CHECK-NEXT: for i in T.grid(64): y[i] = x[i]
    # CHECK-NEXT: return y
    @R.function
    def other(x: R.Tensor((64,), "float32"), y: R.Tensor((64,), "float32")) -> R.Tensor((64,), "float32"):
        for i in T.grid(64):
            y[i] = x[i]
        return y

    # Written by hand: other vectors, another order, another tile than any rule would choose; loops stay apart.
    # CHECK-LABEL: def by_hand(
    # CHECK: ) ->
    # CHECK-NEXT: for i in range(0, 24, 8):
    # CHECK-NEXT: for j in range(0, 6, 3):
    # CHECK-NEXT: v0 = A.vload([j, i], T.float32x4)
    # CHECK-NEXT: v1 = A.vload([j, i + 4], T.float32x4)
    # CHECK-NEXT: v2 = A.vload([j + 1, i], T.float32x4)
    # CHECK-NEXT: v3 = A.vload([j + 1, i + 4], T.float32x4)
    # CHECK-NEXT: v4 = A.vload([j + 2, i], T.float32x4)
    # CHECK-NEXT: v5 = A.vload([j + 2, i + 4], T.float32x4)
    # CHECK-NEXT: v6 = v0 + v0
    # CHECK-NEXT: v7 = v1 + v1
    # CHECK-NEXT: v8 = v2 + v2
    # CHECK-NEXT: v9 = v3 + v3
    # CHECK-NEXT: v10 = v4 + v4
    # CHECK-NEXT: v11 = v5 + v5
    # CHECK-NEXT: B.vstore(v6, [j, i])
    # CHECK-NEXT: B.vstore(v7, [j, i + 4])
    # CHECK-NEXT: B.vstore(v8, [j + 1, i])
    # CHECK-NEXT: B.vstore(v9, [j + 1, i + 4])
    # CHECK-NEXT: B.vstore(v10, [j + 2, i])
    # CHECK-NEXT: B.vstore(v11, [j + 2, i + 4])
    # CHECK-NEXT: return B
    @T.prim_func
    def by_hand(A: T.Tensor((6, 24), "float32"), B: T.Tensor((6, 24), "float32")) -> T.Tensor((6, 24), "float32"):
        for i, j in T.grid(6, 24, annotations={"tir.plan": "order 1 0; vector 1 x 4; tile 1: 2, 0: 3"}):
            B[i, j] = A[i, j] + A[i, j]
        return B

    # A fill and an epilogue that stay operations of their own: the sums are written, and read again.
    # CHECK-LABEL: def apart(
    # CHECK-NEXT: empty_0 = tensor.empty(T.Tensor((16,), "float32"))
    # CHECK-NEXT: for i in range(0, 16, 4):
    # CHECK-NEXT: empty_0.vstore(vector.broadcast(T.float32(0.0), T.float32x4), [i])
    # CHECK-NEXT: for i in range(0, 16, 8):
    # CHECK-NEXT: v0 = empty_0.vload([i], T.float32x8)
    # CHECK-NEXT: for j in range(9):
    # CHECK-NEXT: v0 = A.vload([j, i], T.float32x8) + v0
    # CHECK-NEXT: empty_0.vstore(v0, [i])
    # CHECK-NEXT: for i in range(0, 16, 2):
    # CHECK-NEXT: B.vstore(-empty_0.vload([i], T.float32x2), [i])
    # CHECK-NEXT: return B
    @T.prim_func
    def apart(A: T.Tensor((9, 16), "float32"), B: T.Tensor((16,), "float32")) -> T.Tensor((16,), "float32"):
        C = tensor.empty(T.Tensor((16,), "float32"))
        zero = T.float32(0.0)
        for i in T.grid(16, reads=[zero], annotations={"tir.plan": "order 0; vector 0 x 4"}):
            C[i] = zero
        for i, j in T.grid(16, T.reduce(9), annotations={"tir.plan": "order 0 1; carried 1; vector 0 x 8"}):
            C[i] = A[j, i] + C[i]
        for i in T.grid(16, annotations={"tir.plan": "order 0; vector 0 x 2"}):
            B[i] = -C[i]
        return B
