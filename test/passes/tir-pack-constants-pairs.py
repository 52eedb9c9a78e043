# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-pack-constants='target=llvm{cpu=haswell}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --tir-pack-constants='target=llvm{cpu=haswell}' --tir-apply-plan='target=llvm{cpu=haswell}' | FileCheck %s --check-prefix=APPLIED
# RUN: graphs %s | relax-opt - --tir-pack-constants='target=llvm{cpu=alderlake}' --print-script | FileCheck %s --check-prefix=OTHERS
"""Constant weights for pairs of bytes: 16-bit sums of two products saturate unless masks keep them from that."""


# 255 * (64 + 64) fits in 16 bits. The sign bits of signed rows are flipped.
# CHECK-LABEL: def safe(
# CHECK: B: T.Tensor((1, 1, 32), "int8")
# CHECK: dot 2: 4 safe; rule own"
# OTHERS-LABEL: def safe(
# OTHERS: dot 2: 4; rule own"
# APPLIED-LABEL: func.func private @safe(
# APPLIED: %[[ROWS:.*]] = vector.bitcast %{{.*}} : vector<8xi32> to vector<32xi8>
# APPLIED: %[[FLIPPED:.*]] = arith.xori %[[ROWS]], %{{.*}} : vector<32xi8>
# APPLIED: %[[PAIRS:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%[[FLIPPED]], %{{.*}}) : (vector<32xi8>, vector<32xi8>) -> vector<16xi16>
# APPLIED: %[[SUMS:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[PAIRS]], %{{.*}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
# APPLIED: arith.addi %{{.*}}, %[[SUMS]] : vector<8xi32>
# APPLIED: return
@T.prim_func(private=True)
def safe(A: i8[9, 4], B: i8[4, 8], C: i32[9, 8]) -> i32[9, 8]:
    for i, j, k in T.grid(
        9, 8, T.reduce(4), annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 8; dot 2: 4"}
    ):
        C[i, j] = C[i, j] + arith.extsi(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# 255 * (65 + 65) does not fit. Masks follow the weights, and rows of zeros are subtracted.
# CHECK-LABEL: def masked(
# CHECK: B: T.Tensor((2, 1, 32), "int8")
# CHECK: dot 2: 4 masked; rule own"
# OTHERS-LABEL: def masked(
# OTHERS: dot 2: 4; rule own"
# APPLIED-LABEL: func.func private @masked(
# APPLIED-SAME: %{{.*}}: tensor<9x4xi8>, %[[PACKED:.*]]: tensor<2x1x32xi8>
# APPLIED-NOT: linalg.generic
# APPLIED: vector.transfer_read %[[PACKED]]
# APPLIED: vector.transfer_read %[[PACKED]]
# APPLIED: arith.xori
# APPLIED: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
# APPLIED: scf.for
# APPLIED: arith.subi %{{.*}}, %{{.*}} : vector<8xi32>
# APPLIED: %[[FLIPPED:.*]] = arith.xori %{{.*}}, %{{.*}} : vector<32xi8>
# APPLIED: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%[[FLIPPED]], %{{.*}})
# APPLIED: return
@T.prim_func(private=True)
def masked(A: i8[9, 4], B: i8[4, 8], C: i32[9, 8]) -> i32[9, 8]:
    for i, j, k in T.grid(
        9, 8, T.reduce(4), annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 8; dot 2: 4"}
    ):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


def main(x: i8[9, 4]) -> i32[9, 8]:
    v = R.const(64, R.Tensor((4, 8), "int8"))
    w = R.const(65, R.Tensor((4, 8), "int8"))
    a = R.call_tir(cls.safe, (x, v), out_sinfo=i32[9, 8])
    b = R.call_tir(cls.masked, (x, w), out_sinfo=i32[9, 8])
    c = R.add(a, b)
    return c
