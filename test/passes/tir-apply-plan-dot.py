# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-apply-plan='target=llvm{cpu=znver4}' | FileCheck %s
"""Dot products: vectors of contiguous groups, times a group that all lanes share."""


# Two rows become one vector of pairs. The last row has no neighbour: zeros stand for it, and behind the elements
# that are shared nothing is read.
# CHECK-LABEL: func.func @pairs(
# CHECK: scf.for
# CHECK: %[[EVEN:.*]] = vector.transfer_read %{{.*}} : tensor<5x16xbf16>, vector<16xbf16>
# CHECK: %[[ODD:.*]] = vector.transfer_read %{{.*}} : tensor<5x16xbf16>, vector<16xbf16>
# CHECK: %[[COLUMNS:.*]] = vector.shuffle %[[EVEN]], %[[ODD]] [0, 16, 1, 17,
# CHECK: %[[PAIR:.*]] = vector.transfer_read %{{.*}} {in_bounds = [true]} : tensor<1x5xbf16>, vector<2xbf16>
# CHECK: vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
# CHECK: vector.broadcast %{{.*}} : i32 to vector<16xi32>
# CHECK: %[[ROWS:.*]] = vector.bitcast %{{.*}} : vector<16xi32> to vector<32xbf16>
# CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[ROWS]], %[[COLUMNS]]) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
# CHECK: scf.yield
# CHECK: %[[LAST:.*]] = vector.transfer_read %{{.*}} : tensor<5x16xbf16>, vector<16xbf16>
# CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<16xbf16>
# CHECK: vector.shuffle %[[LAST]], %[[ZEROS]]
# CHECK: %[[MASK:.*]] = vector.create_mask %c1{{.*}} : vector<2xi1>
# CHECK: vector.transfer_read %{{.*}}, %[[MASK]] {in_bounds = [true]} : tensor<1x5xbf16>, vector<2xbf16>
# CHECK: return
@T.prim_func
def pairs(A: bf16[1, 5], B: bf16[5, 16], C: f32[1, 16]) -> f32[1, 16]:
    for i, j, k in T.grid(
        1, 16, T.reduce(5), annotations={"tir.plan": "order 0 1 2; carried 1; vector 1 x 16; dot 2: 2"}
    ):
        C[i, j] = C[i, j] + arith.extf(A[i, k], T.float32) * arith.extf(B[k, j], T.float32)
    return C


# The instruction takes unsigned numbers on the left. If both are signed, the shared operand is shifted by 128, and
# the surplus is subtracted, once for all rows.
# CHECK-LABEL: func.func @signed(
# CHECK: %[[TURNED:.*]] = arith.constant dense<-128> : vector<64xi8>
# CHECK: %[[OFZEROS:.*]] = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[TURNED]], %{{.*}})
# CHECK: scf.for
# CHECK: arith.subi %{{.*}}, %[[OFZEROS]] : vector<16xi32>
# CHECK: arith.xori %{{.*}} : vector<64xi8>
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
# CHECK: return
@T.prim_func
def signed(A: i8[9, 4], B: i8[4, 16], C: i32[9, 16]) -> i32[9, 16]:
    for i, j, k in T.grid(
        9, 16, T.reduce(4), annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4"}
    ):
        C[i, j] = C[i, j] + arith.extsi(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# Where the columns are unsigned they are the left factors.
# CHECK-LABEL: func.func @swapped(
# CHECK-NOT: arith.xori
# CHECK: %[[COLUMNS:.*]] = vector.shuffle %{{.*}} [0, 32, 1, 33,
# CHECK: %[[ROWS:.*]] = vector.bitcast %{{.*}} : vector<16xi32> to vector<64xi8>
# CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[COLUMNS]], %[[ROWS]])
# CHECK: return
@T.prim_func
def swapped(A: i8[9, 4], B: i8[4, 16], C: i32[9, 16]) -> i32[9, 16]:
    for i, j, k in T.grid(
        9, 16, T.reduce(4), annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 16; dot 2: 4"}
    ):
        C[i, j] = C[i, j] + arith.extsi(A[i, k], T.int32) * arith.extui(B[k, j], T.int32)
    return C
