# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=1}' --print-script | FileCheck %s
# RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=64 caches=32K,128K cores=1}' --print-script | FileCheck %s --check-prefix=SMALL
# RUN: relax-opt %s --tir-plan='target=llvm{vector-bytes=32 cores=1}' --print-script | FileCheck %s --check-prefix=SHORT
# RUN: relax-opt %s --tir-plan='target=llvm{triple=aarch64-linux-gnu cores=1}' --print-script | FileCheck %s --check-prefix=ARM
# RUN: relax-opt %s --tir-plan=target=default --print-script | FileCheck %s --check-prefix=DEFAULT
"""Choice of plans for loops, without other changes. Named operations: tir-plan-named.mlir."""

from relax_mlir.script import ir as I, relax as R, tir as T

# DEFAULT-NOT: rule
# DEFAULT-NOT: tir.unplanned


@I.ir_module(ssa=True)
class Module:
    # Neighbouring loops are one where no operand has a gap.
    # CHECK-LABEL: def elementwise(
    # CHECK: ) ->
    # CHECK-NEXT: for i, j in T.grid(7, 19, annotations={"tir.plan": "order (0 1); vector 0 x 16; tile 0: 4; rule elementwise"}):
    # CHECK-NEXT: C[i, j] = A[i, j] + B[i, j]
    # CHECK-NEXT: return C
    # SHORT-LABEL: def elementwise(
    # SHORT: "tir.plan": "order (0 1); vector 0 x 8; tile 0: 4; rule elementwise"
    # ARM-LABEL: def elementwise(
    # ARM: "tir.plan": "order (0 1); vector 0 x 4; tile 0: 4; rule elementwise"
    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def elementwise(
        A: T.Tensor((7, 19), "float32"), B: T.Tensor((7, 19), "float32"), C: T.Tensor((7, 19), "float32")
    ) -> T.Tensor((7, 19), "float32"):
        for i, j in T.grid(7, 19):
            C[i, j] = A[i, j] + B[i, j]
        return C

    # A product, its initial value and its epilogue: three nests become one nest of loops. More registers allow more
    # rows.
    # CHECK-LABEL: def matmul(
    # CHECK: ) ->
    # CHECK-NEXT: v0 = T.float32(0.0)
    # CHECK-NEXT: generic_0 = C
    # CHECK-NEXT: for i, j in T.grid(60, 128, reads=[v0], annotations={"tir.plan": "start"}):
    # CHECK-NEXT: generic_0[i, j] = v0
    # CHECK-NEXT: for i, j, k in T.grid(60, 128, T.reduce(32), annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; panel 1 along 2: 32; rule matmul"}):
    # CHECK-NEXT: generic_0[i, j] = generic_0[i, j] + A[i, k] * B[k, j]
    # CHECK-NEXT: for i, j in T.grid(60, 128, annotations={"tir.plan": "epilogue of 0"}):
    # CHECK-NEXT: C[i, j] = arith.maximumf(generic_0[i, j], 0.0)
    # CHECK-NEXT: return C
    # SHORT-LABEL: def matmul(
    # SHORT: "tir.plan": "order 1 0 2; carried 1; vector 1 x 8; tile 1: 2, 0: 6; panel 1 along 2: 32; rule matmul"
    # ARM-LABEL: def matmul(
    # ARM: "tir.plan": "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 6; panel 1 along 2: 32; rule matmul"
    @T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
    def matmul(
        A: T.Tensor((60, 32), "float32"), B: T.Tensor((32, 128), "float32"), C: T.Tensor((60, 128), "float32")
    ) -> T.Tensor((60, 128), "float32"):
        D = C
        D[:] = 0.0
        for i, j, k in T.grid(60, 128, T.reduce(32)):
            D[i, j] = D[i, j] + A[i, k] * B[k, j]
        for i, j in T.grid(60, 128):
            C[i, j] = arith.maximumf(D[i, j], 0.0)
        return C

    # A long product goes through memory, in blocks: it starts from the existing sums.
    # CHECK-LABEL: def long(
    # CHECK: ) ->
    # CHECK-NEXT: v0 = T.float32(0.0)
    # CHECK-NEXT: for i, j in T.grid(60, 128, reads=[v0], annotations={"tir.plan": "order (0 1); vector 0 x 16; tile 0: 4; rule elementwise"}):
    # CHECK-NEXT: C[i, j] = v0
    # CHECK-NEXT: for i, j, k in T.grid(60, 128, T.reduce(4000), annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; blocks 2: 512; panel 1 along 2: 512; rule matmul"}):
    # CHECK-NEXT: C[i, j] = C[i, j] + A[i, k] * B[k, j]
    # CHECK-NEXT: return C
    # A panel has room in half of a core's own cache: here 256 steps and more are cut.
    # SMALL-LABEL: def long(
    # SMALL: tile 1: 4, 0: 6; blocks 2: 128; panel 1 along 2: 128; rule matmul"}
    @T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
    def long(
        A: T.Tensor((60, 4000), "float32"), B: T.Tensor((4000, 128), "float32"), C: T.Tensor((60, 128), "float32")
    ) -> T.Tensor((60, 128), "float32"):
        C[:] = 0.0
        for i, j, k in T.grid(60, 128, T.reduce(4000)):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
        return C

    # Four partial sums along the reduction.
    # CHECK-LABEL: def row_sums(
    # CHECK: ) ->
    # CHECK-NEXT: for i, j in T.grid(A.shape[0], T.reduce(A.shape[1]), annotations={"tir.plan": "order 0 1; carried 1; vector 1 x 16; tile 1: 4; rule reduction"}):
    # CHECK-NEXT: B[i] = A[i, j] + B[i]
    # CHECK-NEXT: return B
    @T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
    def row_sums(A: T.Tensor(("?", "?"), "float32"), B: T.Tensor(("?",), "float32")) -> T.Tensor(("?",), "float32"):
        for i, j in T.grid(A.shape[0], T.reduce(A.shape[1])):
            B[i] = A[i, j] + B[i]
        return B

    # Two reductions that run as one loop keep their results in registers as one does.
    # CHECK-LABEL: def mean(
    # CHECK-NEXT: empty_0 = tensor.empty(T.Tensor((8,), "float32"))
    # CHECK-NEXT: v0 = T.float32(0.0)
    # CHECK-NEXT: for i in T.grid(8, reads=[v0], annotations={"tir.plan": "start"}):
    # CHECK-NEXT: empty_0[i] = v0
    # CHECK-NEXT: for i, j, k in T.grid(8, T.reduce(30), T.reduce(20), annotations={"tir.plan": "order 0 (1 2); carried 1; vector 1 x 16; tile 1: 4; rule reduction"}):
    # CHECK-NEXT: empty_0[i] = A[i, j, k] + empty_0[i]
    # CHECK-NEXT: for i in T.grid(8, annotations={"tir.plan": "epilogue of 0"}):
    # CHECK-NEXT: B[i] = empty_0[i] / 600.0
    # CHECK-NEXT: return B
    @T.prim_func
    def mean(A: T.Tensor((8, 30, 20), "float32"), B: T.Tensor((8,), "float32")) -> T.Tensor((8,), "float32"):
        C = tensor.empty(T.Tensor((8,), "float32"))
        C[:] = 0.0
        for i, j, k in T.grid(8, T.reduce(30), T.reduce(20)):
            C[i] = A[i, j, k] + C[i]
        for i in T.grid(8):
            B[i] = C[i] / 600.0
        return B

    # Rows are read, columns are written, in squares.
    # CHECK-LABEL: def transpose(
    # CHECK: ) ->
    # CHECK-NEXT: for i, j in T.grid(48, 64, annotations={"tir.plan": "order 1 0; vector 1 x 16; tile 0: 16; square 0; rule elementwise"}):
    # CHECK-NEXT: B[i, j] = A[j, i]
    # CHECK-NEXT: return B
    @T.prim_func
    def transpose(A: T.Tensor((64, 48), "float32"), B: T.Tensor((48, 64), "float32")) -> T.Tensor((48, 64), "float32"):
        for i, j in T.grid(48, 64):
            B[i, j] = A[j, i]
        return B

    # A nest that no rule fits has the reason: here, a body with a loop. An existing plan stays.
    # CHECK-LABEL: def decided(
    # CHECK-NEXT: generic_0 = B
    # CHECK-NEXT: for i in T.grid(64, annotations={"tir.unplanned": "its body has a 'scf.for'"}):
    # CHECK-NEXT: v0 = A[i]
    # CHECK-NEXT: for j in range(9):
    # CHECK-NEXT: v0 = v0 * A[i]
    # CHECK-NEXT: generic_0[i] = v0
    # CHECK-NEXT: for i in T.grid(64, annotations={"tir.plan": "order 0; vector 0 x 2"}):
    # CHECK-NEXT: B[i] = generic_0[i] * generic_0[i]
    # CHECK-NEXT: return B
    @T.prim_func
    def decided(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")) -> T.Tensor((64,), "int32"):
        C = B
        for i in T.grid(64):
            power = A[i]
            for k in range(9):
                power = power * A[i]
            C[i] = power
        for i in T.grid(64, annotations={"tir.plan": "order 0; vector 0 x 2"}):
            B[i] = C[i] * C[i]
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
