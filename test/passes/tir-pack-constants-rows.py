# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-pack-constants --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --tir-pack-constants --tir-apply-plan='target=llvm{vector-bytes=16}' | FileCheck %s --check-prefix=APPLIED
"""Known matrices are stored as panels also for plans of few rows, which would copy none."""


# A plan without a panel reads one that is there. One row has its results in registers then: threads share panels.
# CHECK-LABEL: def few_rows(
# CHECK: B: T.Tensor((2, 12, 16), "float32")
# CHECK: "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 2; panel 1 along 2: 12 packed; rule own"
@T.prim_func(private=True)
def few_rows(A: f32[4, 12], B: f32[12, 20], C: f32[4, 20]) -> f32[4, 20]:
    for i, j, k in T.grid(
        4,
        20,
        T.reduce(12),
        annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 2"},
    ):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


# CHECK-LABEL: def one_row(
# CHECK: B: T.Tensor((3, 12, 32), "float32")
# CHECK: "order 0 1 2; carried 1; vector 1 x 4; tile 1: 8; panel 1 along 2: 12 packed; parallel 1: 64; rule own"
# APPLIED-LABEL: func.func private @one_row(
# APPLIED-SAME: %[[PANELS:[a-z0-9]*]]: tensor<3x12x32xf32>
# APPLIED-NOT: tensor.empty
# APPLIED: vector.transfer_read %[[PANELS]][%{{.*}}, %{{.*}}, %{{.*}}]
# APPLIED: return
@T.prim_func(private=True)
def one_row(A: f32[1, 12], B: f32[12, 80], C: f32[1, 80]) -> f32[1, 80]:
    for i, j, k in T.grid(
        1,
        80,
        T.reduce(12),
        annotations={
            "tir.plan": "order 0 2 1; vector 1 x 4; tile 1: 4, 2: 8; blocks 1: 48; parallel 1: 48",
        },
    ):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


# Rows around it would each go over all panels; and steps of a sum in blocks have no panel of them all.
# CHECK-LABEL: def several_rows_by_rows(
# CHECK: B: T.Tensor((12, 80), "float32")
# CHECK: "order 0 2 1; vector 1 x 4; tile 1: 4, 2: 8"
@T.prim_func(private=True)
def several_rows_by_rows(A: f32[3, 12], B: f32[12, 80], C: f32[3, 80]) -> f32[3, 80]:
    for i, j, k in T.grid(
        3,
        80,
        T.reduce(12),
        annotations={"tir.plan": "order 0 2 1; vector 1 x 4; tile 1: 4, 2: 8"},
    ):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


# CHECK-LABEL: def blocks_of_the_sum(
# CHECK: B: T.Tensor((12, 80), "float32")
# CHECK: "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4; blocks 2: 6"
@T.prim_func(private=True)
def blocks_of_the_sum(A: f32[3, 12], B: f32[12, 80], C: f32[3, 80]) -> f32[3, 80]:
    for i, j, k in T.grid(
        3,
        80,
        T.reduce(12),
        annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4; blocks 2: 6"},
    ):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


def others(x: f32[4, 12], y: f32[1, 12], z: f32[3, 12]) -> R.Tuple(f32[4, 20], f32[1, 80], f32[3, 80], f32[3, 80]):
    v = R.const(1.0, R.Tensor((12, 20), "float32"))
    w = R.const(2.0, R.Tensor((12, 80), "float32"))
    a = R.call_tir(cls.few_rows, (x, v), out_sinfo=f32[4, 20])
    b = R.call_tir(cls.one_row, (y, w), out_sinfo=f32[1, 80])
    c = R.call_tir(cls.several_rows_by_rows, (z, w), out_sinfo=f32[3, 80])
    d = R.call_tir(cls.blocks_of_the_sum, (z, w), out_sinfo=f32[3, 80])
    return a, b, c, d
