# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{triple=x86_64-linux-gnu cpu=sapphirerapids caches=48K,2M cores=1}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{triple=x86_64-linux-gnu cpu=graniterapids caches=48K,128K cores=1}' --print-script | FileCheck %s --check-prefix=FP16
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{triple=x86_64-linux-gnu cpu=cooperlake cores=1}' --print-script | FileCheck %s --check-prefix=WITHOUT
"""Products of narrow numbers by tiles, if the CPU has them: rows of one factor stay while the columns pass."""

# WITHOUT-NOT: tiles


# CHECK-LABEL: def bfloats(
# CHECK: "tir.plan": "order 0 1 2; carried 1; vector 1 x 16; tile 0: 2, 1: 2; panel 1 along 2: 700; dot 2: 2; tiles 0: 16; rule tiles"
# A small cache has room for some columns.
# FP16-LABEL: def bfloats(
# FP16: tile 0: 2, 1: 2; blocks 1: 32; panel 1 along 2: 700; dot 2: 2; tiles 0: 16; rule tiles"
@T.prim_func
def bfloats(A: bf16[60, 700], B: bf16[700, 128], C: f32[60, 128]) -> f32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(700)):
        C[i, j] = C[i, j] + arith.extf(A[i, k], T.float32) * arith.extf(B[k, j], T.float32)
    return C


# Halves, where the CPU has tiles for them, and a few rows: one tile, next to three of columns.
# CHECK-LABEL: def halves(
# CHECK: rule matmul"
# FP16-LABEL: def halves(
# FP16: tile 0: 1, 1: 3; panel 1 along 2: 70; dot 2: 2; tiles 0: 16; rule tiles"
@T.prim_func
def halves(A: f16[16, 70], B: f16[70, 128], C: f32[16, 128]) -> f32[16, 128]:
    for i, j, k in T.grid(16, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extf(A[i, k], T.float32) * arith.extf(B[k, j], T.float32)
    return C


# Bytes of any signs. A matrix with contiguous columns is as good.
# CHECK-LABEL: def bytes(
# CHECK: "tir.plan": "order 0 1 2; carried 1; vector 1 x 16; tile 0: 2, 1: 2; panel 1 along 2: 70; dot 2: 4; tiles 0: 16; rule tiles"
@T.prim_func
def bytes(A: i8[60, 70], B: i8[128, 70], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extsi(A[i, k], T.int32) * arith.extui(B[j, k], T.int32)
    return C


# Loops around them stay outermost.
# CHECK-LABEL: def batch(
# CHECK: "tir.plan": "order 0 1 2 3; carried 1; vector 2 x 16; tile 1: 2, 2: 2; blocks 2: 8192; panel 1 along 3: 64; dot 3: 2; tiles 1: 16; rule tiles"
@T.prim_func
def batch(A: bf16[12, "?", 64], B: bf16[12, 64, "?"], C: f32[12, "?", "?"]) -> f32[12, "?", "?"]:
    for b, i, j, k in T.grid(12, A.shape[1], B.shape[2], T.reduce(64)):
        C[b, i, j] = C[b, i, j] + arith.extf(A[b, i, k], T.float32) * arith.extf(B[b, k, j], T.float32)
    return C


# Few rows leave most of a tile empty, and where the length of sums is unknown it cannot be filled up.
# CHECK-LABEL: def few(
# CHECK: rule dot"
@T.prim_func
def few(A: i8[4, 70], B: i8[70, 128], C: i32[4, 128]) -> i32[4, 128]:
    for i, j, k in T.grid(4, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# CHECK-LABEL: def open(
# CHECK: rule dot"
@T.prim_func
def open(A: i8[60, "?"], B: i8["?", 128], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(A.shape[1])):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# Rows that a core's own cache has no room for, and rows that are not adjacent.
# CHECK-LABEL: def long(
# CHECK: rule dot"
@T.prim_func
def long(A: bf16[60, 20000], B: bf16[20000, 128], C: f32[60, 128]) -> f32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(20000)):
        C[i, j] = C[i, j] + arith.extf(A[i, k], T.float32) * arith.extf(B[k, j], T.float32)
    return C


# CHECK-LABEL: def apart(
# CHECK: rule matmul"
@T.prim_func
def apart(A: i8[70, 60], B: i8[70, 128], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[k, i], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# Channels in blocks: places are rows, blocks are columns, and a sum goes over taps. Where these make no whole tiles
# vectors do it.
# CHECK-LABEL: def conv(
# CHECK: "tir.plan": "order 1 2 0 3 5 6 4 7; carried 4; vector 3 x 16; tile 2: 2, 0: 2; dot 7: 4; tiles 2: 16; rule tiles"
@T.prim_func
def conv(X: i8[4, 10, 22, 16], W: i8[8, 4, 3, 3, 16, 16], Y: i32[8, 8, 20, 16]) -> i32[8, 8, 20, 16]:
    for b, h, w, o, i, r, s, c in T.grid(8, 8, 20, 16, T.reduce(4), T.reduce(3), T.reduce(3), T.reduce(16)):
        Y[b, h, w, o] = Y[b, h, w, o] + arith.extui(X[i, h + r, w + s, c], T.int32) * arith.extsi(
            W[b, i, r, s, c, o], T.int32
        )
    return Y


# CHECK-LABEL: def odd(
# CHECK: rule dot"
@T.prim_func
def odd(X: i8[2, 10, 22, 16], W: i8[8, 2, 3, 3, 16, 16], Y: i32[8, 8, 20, 16]) -> i32[8, 8, 20, 16]:
    for b, h, w, o, i, r, s, c in T.grid(8, 8, 20, 16, T.reduce(2), T.reduce(3), T.reduce(3), T.reduce(16)):
        Y[b, h, w, o] = Y[b, h, w, o] + arith.extui(X[i, h + r, w + s, c], T.int32) * arith.extsi(
            W[b, i, r, s, c, o], T.int32
        )
    return Y
