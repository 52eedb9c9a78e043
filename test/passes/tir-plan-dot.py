# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{cpu=znver4 cores=1}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{cpu=alderlake caches=32K,64K cores=1}' --print-script | FileCheck %s --check-prefix=VNNI
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{cpu=neoverse-v1 triple=aarch64-linux-gnu cores=1}' --print-script | FileCheck %s --check-prefix=ARM
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{cpu=skylake-avx512 cores=1}' --print-script | FileCheck %s --check-prefix=WITHOUT
"""Sums of products of narrow numbers in groups of a reduction's steps, if the CPU has an instruction for them."""

# WITHOUT-NOT: dot


# CHECK-LABEL: def bfloats(
# CHECK: "tir.plan": "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; panel 1 along 2: 70; dot 2: 2; rule dot"
# VNNI-LABEL: def bfloats(
# VNNI: "tir.plan": "order 1 0 2; carried 1; vector 1 x 8; tile 1: 2, 0: 6; panel 1 along 2: 70; rule matmul"
# ARM-LABEL: def bfloats(
# ARM: "tir.plan": "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 6; panel 1 along 2: 70; dot 2: 2; rule dot"
# WITHOUT: "tir.plan": "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; panel 1 along 2: 70; rule matmul"
@T.prim_func
def bfloats(A: bf16[60, 70], B: bf16[70, 128], C: f32[60, 128]) -> f32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extf(A[i, k], T.float32) * arith.extf(B[k, j], T.float32)
    return C


# CHECK-LABEL: def bytes(
# CHECK: "tir.plan": "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; panel 1 along 2: 70; dot 2: 4; rule dot"
# VNNI-LABEL: def bytes(
# VNNI: "tir.plan": "order 1 0 2; carried 1; vector 1 x 8; tile 1: 2, 0: 6; panel 1 along 2: 70; dot 2: 4; rule dot"
# ARM-LABEL: def bytes(
# ARM: vector 1 x 4; tile 1: 4, 0: 6; panel 1 along 2: 70; dot 2: 4; rule dot"
@T.prim_func
def bytes(A: i8[60, 70], B: i8[70, 128], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# A panel of groups is longer than one of steps. In blocks it takes whole groups.
# CHECK-LABEL: def long(
# CHECK: "tir.plan": "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 6; panel 1 along 2: 4095; dot 2: 4; rule dot"
# VNNI-LABEL: def long(
# VNNI: blocks 2: 1024; panel 1 along 2: 1024; dot 2: 4; rule dot"
@T.prim_func
def long(A: i8[60, 4095], B: i8[4095, 128], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(4095)):
        C[i, j] = C[i, j] + arith.extsi(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# Few rows: nothing is copied. One row: more columns at a time. No more lanes than columns, but as many as the
# shortest instruction has.
# CHECK-LABEL: def few(
# CHECK: "tir.plan": "order 1 0 2; carried 1; vector 1 x 16; tile 1: 4, 0: 4; dot 2: 4; rule dot"
@T.prim_func
def few(A: i8[4, 70], B: i8[70, 128], C: i32[4, 128]) -> i32[4, 128]:
    for i, j, k in T.grid(4, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# CHECK-LABEL: def one(
# CHECK: "tir.plan": "order 0 1 2; carried 1; vector 1 x 16; tile 1: 8; dot 2: 4; rule dot"
@T.prim_func
def one(A: i8[1, 70], B: i8[70, 128], C: i32[1, 128]) -> i32[1, 128]:
    for i, j, k in T.grid(1, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# CHECK-LABEL: def thin(
# CHECK: vector 1 x 4; {{.*}}; dot 2: 4; rule dot"
@T.prim_func
def thin(A: i8[60, 70], B: i8[70, 2], C: i32[60, 2]) -> i32[60, 2]:
    for i, j, k in T.grid(60, 2, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# Both have the reduction's elements contiguous: vectors run along it. There no sign can be turned round.
# CHECK-LABEL: def transposed(
# CHECK: "tir.plan": "order 1 0 2; carried 1; vector 2 x 16; tile 0: 4, 1: 4; dot 2: 2; rule dot"
@T.prim_func
def transposed(A: bf16[60, 70], B: bf16[128, 70], C: f32[60, 128]) -> f32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extf(A[i, k], T.float32) * arith.extf(B[j, k], T.float32)
    return C


# CHECK-LABEL: def transposed_signed(
# CHECK: rule matmul"
# ARM-LABEL: def transposed_signed(
# ARM: vector 2 x 4; tile 0: 4, 1: 4; dot 2: 4; rule dot"
@T.prim_func
def transposed_signed(A: i8[60, 70], B: i8[128, 70], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extsi(A[i, k], T.int32) * arith.extsi(B[j, k], T.int32)
    return C


# Channels in blocks, with weights that are read as vectors.
# CHECK-LABEL: def conv(
# CHECK: "tir.plan": "order 0 2 1 3 4 5; carried 3; vector 2 x 16; tile 2: 1, 1: 16; dot 5: 4; rule dot"
@T.prim_func
def conv(X: i8[10, 18, 16], W: i8[3, 3, 16, 16], Y: i32[8, 16, 16]) -> i32[8, 16, 16]:
    for h, w, o, r, s, c in T.grid(8, 16, 16, T.reduce(3), T.reduce(3), T.reduce(16)):
        Y[h, w, o] = Y[h, w, o] + arith.extui(X[h + r, w + s, c], T.int32) * arith.extsi(W[r, s, c, o], T.int32)
    return Y


# A small number of channels that are apart: groups of a window's row, where at least half of each group are its
# elements.
# CHECK-LABEL: def pictures(
# CHECK: carried 3; vector 2 x 16; tile 2: 1, 1: 16; dot 5: 2; rule dot"
# VNNI-LABEL: def pictures(
# VNNI: rule conv"
@T.prim_func
def pictures(X: bf16[3, 21, 37], W: bf16[3, 7, 7, 16], Y: f32[8, 16, 16]) -> f32[8, 16, 16]:
    for h, w, o, c, r, s in T.grid(8, 16, 16, T.reduce(3), T.reduce(7), T.reduce(7)):
        Y[h, w, o] = Y[h, w, o] + arith.extf(X[c, h * 2 + r, w * 2 + s], T.float32) * arith.extf(
            W[c, r, s, o], T.float32
        )
    return Y


# CHECK-LABEL: def points(
# CHECK: rule conv"
@T.prim_func
def points(X: i8[3, 15, 31], W: i8[3, 1, 2, 16], Y: i32[8, 15, 16]) -> i32[8, 15, 16]:
    for h, w, o, c, r, s in T.grid(8, 15, 16, T.reduce(3), T.reduce(1), T.reduce(2)):
        Y[h, w, o] = Y[h, w, o] + arith.extui(X[c, h * 2 + r, w * 2 + s], T.int32) * arith.extsi(W[c, r, s, o], T.int32)
    return Y


# Elements that are not adjacent along the reduction, sums of another width, and factors that are computed before, are as
# they were.
# CHECK-LABEL: def apart(
# CHECK: rule matmul"
@T.prim_func
def apart(A: i8[70, 60], B: i8[70, 128], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[k, i], T.int32) * arith.extsi(B[k, j], T.int32)
    return C


# CHECK-LABEL: def wide(
# CHECK: rule matmul"
@T.prim_func
def wide(A: i8[60, 70], B: i8[70, 128], C: i64[60, 128]) -> i64[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + arith.extui(A[i, k], T.int64) * arith.extsi(B[k, j], T.int64)
    return C


# CHECK-LABEL: def before(
# CHECK: rule matmul"
@T.prim_func
def before(A: i8[60, 70], B: i8[70, 128], C: i32[60, 128]) -> i32[60, 128]:
    for i, j, k in T.grid(60, 128, T.reduce(70)):
        C[i, j] = C[i, j] + (arith.extui(A[i, k], T.int32) - 3) * arith.extsi(B[k, j], T.int32)
    return C
