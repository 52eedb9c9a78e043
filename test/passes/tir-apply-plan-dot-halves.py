# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-apply-plan='target=llvm{cpu=haswell}' | FileCheck %s
"""CPUs without instructions for bytes sum products of pairs of 16 bits: of the even bytes, and of the odd bytes."""


# Signed bytes are sign-extended, and unsigned ones are zero-extended.
# CHECK-LABEL: func.func @mixed(
# CHECK: %[[COLUMNS:.*]] = vector.shuffle %{{.*}} [0, 16, 1, 17,
# CHECK: %[[ROWS:.*]] = vector.bitcast %{{.*}} : vector<8xi32> to vector<32xi8>
# CHECK: %[[LEFT:.*]] = vector.bitcast %[[COLUMNS]] : vector<32xi8> to vector<16xi16>
# CHECK: %[[RAISED:.*]] = arith.shli %[[LEFT]], %{{.*}} : vector<16xi16>
# CHECK: %[[EVENLEFT:.*]] = arith.shrsi %[[RAISED]], %{{.*}} : vector<16xi16>
# CHECK: %[[ODDLEFT:.*]] = arith.shrsi %[[LEFT]], %{{.*}} : vector<16xi16>
# CHECK: %[[RIGHT:.*]] = vector.bitcast %[[ROWS]] : vector<32xi8> to vector<16xi16>
# CHECK: %[[RAISED:.*]] = arith.shli %[[RIGHT]], %{{.*}} : vector<16xi16>
# CHECK: %[[EVENRIGHT:.*]] = arith.shrui %[[RAISED]], %{{.*}} : vector<16xi16>
# CHECK: %[[ODDRIGHT:.*]] = arith.shrui %[[RIGHT]], %{{.*}} : vector<16xi16>
# CHECK: %[[EVEN:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[EVENLEFT]], %[[EVENRIGHT]]) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
# CHECK: %[[HALF:.*]] = arith.addi %{{.*}}, %[[EVEN]] : vector<8xi32>
# CHECK: %[[ODD:.*]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[ODDLEFT]], %[[ODDRIGHT]])
# CHECK: arith.addi %[[HALF]], %[[ODD]] : vector<8xi32>
# CHECK: return
@T.prim_func
def mixed(A: i8[9, 4], B: i8[4, 8], C: i32[9, 8]) -> i32[9, 8]:
    for i, j, k in T.grid(
        9, 8, T.reduce(4), annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 8; dot 2: 4"}
    ):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C
