# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --tir-pack-constants --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --tir-pack-constants --tir-apply-plan='target=llvm{vector-bytes=16}' | FileCheck %s --check-prefix=APPLIED
"""Constant matrices that a plan copies to panels are stored as panels: 16 columns of all rows, then the next ones."""


# The last panel is filled up with zeros.
# CHECK-LABEL: def product(
# CHECK: B: T.Tensor((2, 12, 16), "float32")
# CHECK: tensor.collapse_shape(
# CHECK: annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 2; panel 1 along 2: 12 packed; rule own"}
# Operands that are read as panels are not unpacked.
# APPLIED-LABEL: func.func private @product(
# APPLIED-SAME: %[[PANELS:[a-z0-9]*]]: tensor<2x12x16xf32>
# APPLIED-NOT: linalg.generic
# APPLIED-NOT: tensor.empty
# APPLIED: vector.transfer_read %[[PANELS]][%{{.*}}, %{{.*}}, %{{.*}}]
# APPLIED: return
@T.prim_func(private=True)
def product(A: f32[32, 12], B: f32[12, 20], C: f32[32, 20]) -> f32[32, 20]:
    for i, j, k in T.grid(
        32,
        20,
        T.reduce(12),
        annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 2; panel 1 along 2: 12"},
    ):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


# One caller's matrix is unknown, so the layout stays for all of them.
# CHECK-LABEL: def mixed(
# CHECK: B: T.Tensor((12, 20), "float32")
# CHECK: panel 1 along 2: 12"
# APPLIED-LABEL: func.func private @mixed(
# APPLIED: tensor.empty() : tensor<12x16xf32>
@T.prim_func(private=True)
def mixed(A: f32[32, 12], B: f32[12, 20], C: f32[32, 20]) -> f32[32, 20]:
    for i, j, k in T.grid(
        32,
        20,
        T.reduce(12),
        annotations={"tir.plan": "order 1 0 2; carried 1; vector 1 x 4; tile 1: 4, 0: 2; panel 1 along 2: 12"},
    ):
        C[i, j] = C[i, j] + A[i, k] * B[k, j]
    return C


# CHECK-LABEL: def main(
# CHECK: R.call_tir(cls.product, (x, [[V:.*]]),
# CHECK: R.call_tir(cls.product, (x, [[U:.*]]),
# CHECK: return
# CHECK: I.resource("{{.*}}", "tensor<2x12x16xf32>"
# CHECK: I.resource("{{.*}}", "tensor<2x12x16xf32>"
# CHECK-NOT: I.resource
def main(x: f32[32, 12], w: f32[12, 20]) -> f32[32, 20]:
    v = R.const(1.0, R.Tensor((12, 20), "float32"))
    u = R.const(2.0, R.Tensor((12, 20), "float32"))
    a = R.call_tir(cls.product, (x, v), out_sinfo=f32[32, 20])
    b = R.call_tir(cls.product, (x, u), out_sinfo=f32[32, 20])
    c = R.call_tir(cls.mixed, (x, v), out_sinfo=f32[32, 20])
    d = R.call_tir(cls.mixed, (x, w), out_sinfo=f32[32, 20])
    e = R.add(a, b)
    f = R.add(c, d)
    g = R.add(e, f)
    return g
