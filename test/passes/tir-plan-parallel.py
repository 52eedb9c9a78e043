# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=4}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=4}' --tir-apply-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=4}' | FileCheck %s --check-prefix=APPLIED
# RUN: graphs %s | relax-opt - --tir-plan='target=llvm{vector-bytes=64 caches=32K,512K cores=1}' --print-script | FileCheck %s --check-prefix=ALONE
"""Parallel loops and their grains: the loop with the shortest estimated time, usually the outermost one."""

# ALONE-NOT: parallel


# Columns, of which each thread copies its own to a panel.
# APPLIED-LABEL: func.func @product(
# APPLIED: scf.for
# APPLIED-NEXT: tensor.empty() : tensor<512x64xf32>
# APPLIED: {tir.parallel = 2 : i64}
# APPLIED: return
# CHECK-LABEL: def product(
# CHECK: T.grid(512, 4096, T.reduce(512), annotations={"tir.plan": "order 1 0 2; {{.*}}; panel 1 along 2: 512; parallel 1: 128; rule matmul"}):
@T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
def product(A: f32[512, 512], B: f32[512, 4096], C: f32[512, 4096]) -> f32[512, 4096]:
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
def tall(A: f32[4096, 512], B: f32[512, 128], C: f32[4096, 128]) -> f32[4096, 128]:
    for i, j, k in T.grid(4096, 128, T.reduce(512)):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


# Four steps of columns are one region with an even share for each core. Rows have 15 grains, but in four regions.
# CHECK-LABEL: def even(
# CHECK: T.grid(256, 256, T.reduce(256), annotations={"tir.plan": "order 1 0 2; {{.*}}; parallel 1: 64; rule matmul"}):
@T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
def even(A: f32[256, 256], B: f32[256, 256], C: f32[256, 256]) -> f32[256, 256]:
    for i, j, k in T.grid(256, 256, T.reduce(256)):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


# Steps of the reduction are around the columns, and would share them anew each time: blocks of columns are around.
# CHECK-LABEL: def row(
# CHECK: T.grid(1, 4096, T.reduce(2048), annotations={"tir.plan": "order {{.*}}; blocks 1: 128; parallel 1: 128; rule matmul"}):
@T.prim_func(attrs={"tir.op_pattern": "out_ewise_fusable"})
def row(A: f32[1, 2048], B: f32[2048, 4096], C: f32[1, 4096]) -> f32[1, 4096]:
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
def sums(A: f32["?", 4096], B: f32["?"]) -> f32["?"]:
    for i, j in T.grid(A.shape[0], T.reduce(A.shape[1])):
        B[i] = B[i] + A[i, j]
    return B


# No thread is woken for this.
# CHECK-LABEL: def little(
# CHECK-NOT: parallel
@T.prim_func(attrs={"tir.op_pattern": "elemwise"})
def little(A: f32[64, 64], B: f32[64, 64]) -> f32[64, 64]:
    for i, j in T.grid(64, 64):
        B[i, j] = A[i, j] + A[i, j]
    return B


# All of it is one number: a reduction is not shared.
# CHECK-LABEL: def total(
# CHECK-NOT: parallel
@T.prim_func(attrs={"tir.op_pattern": "comm_reduce"})
def total(A: f32[4000000], B: f32[1]) -> f32[1]:
    for i, j in T.grid(1, T.reduce(4000000)):
        B[i] = B[i] + A[j]
    return B
