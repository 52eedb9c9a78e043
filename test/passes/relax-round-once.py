# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-round-once --print-script | FileCheck %s
"""Sums of products stay f32 through later elementwise operators, and are rounded once."""


# CHECK-LABEL: def layer(
# CHECK: y: R.Tensor(("n", 4), "float32") = R.matmul(x, w, out_dtype="float32")
# CHECK-NEXT: biased: R.Tensor((4,), "float32") = R.astype(b, dtype="float32")
# CHECK-NEXT: biased_1: R.Tensor(("n", 4), "float32") = R.add(y, biased)
# CHECK-NEXT: active: R.Tensor(("n", 4), "float32") = R.nn.gelu(biased_1)
# CHECK-NEXT: active_1: R.Tensor(("n", 4), "bfloat16") = R.astype(active, dtype="bfloat16")
# CHECK-NEXT: return active_1
def layer(x: bf16[n, 4], w: bf16[4, 4], b: bf16[4]) -> bf16[n, 4]:
    y = R.matmul(x, w)
    biased = R.add(y, b)
    active = R.nn.gelu(biased)
    return active


# A value with several users is rounded for all of them. A cast back uses the f32 value.
# CHECK-LABEL: def residual(
# CHECK: y: R.Tensor((4, 4), "float32") = R.matmul(x, w, out_dtype="float32")
# CHECK-NEXT: less: R.Tensor((4, 4), "float32") = R.negative(y)
# CHECK-NEXT: active: R.Tensor((4, 4), "float32") = R.nn.relu(less)
# CHECK-NEXT: active_1: R.Tensor((4, 4), "float16") = R.astype(active, dtype="float16")
# CHECK-NEXT: z: R.Tensor((4, 4), "float32") = R.matmul(active_1, w, out_dtype="float32")
# CHECK-NEXT: sum: R.Tensor((4, 4), "float32") = R.astype(active_1, dtype="float32")
# CHECK-NEXT: sum_1: R.Tensor((4, 4), "float32") = R.add(z, sum)
# CHECK-NEXT: e: R.Tensor((4, 4), "float32") = R.exp(sum_1)
# CHECK-NEXT: return e
def residual(x: f16[4, 4], w: f16[4, 4]) -> f32[4, 4]:
    y = R.matmul(x, w)
    less = R.negative(y)
    active = R.nn.relu(less)
    z = R.matmul(active, w)
    sum = R.add(z, active)
    wide = R.astype(sum, dtype="float32")
    e = R.exp(wide)
    return e


# Of two products the later one's sums stay in registers; the other is in memory in 16 bits.
# CHECK-LABEL: def branches(
# CHECK: left: {{.*}} = R.matmul(x, w, out_dtype="float32")
# CHECK-NEXT: left_1: R.Tensor((4, 4), "bfloat16") = R.astype(left, dtype="bfloat16")
# CHECK-NEXT: right: {{.*}} = R.matmul(w, x, out_dtype="float32")
# CHECK-NEXT: sum: R.Tensor((4, 4), "float32") = R.astype(left_1, dtype="float32")
# CHECK-NEXT: sum_1: R.Tensor((4, 4), "float32") = R.add(sum, right)
# CHECK-NEXT: active: R.Tensor((4, 4), "float32") = R.nn.relu(sum_1)
# CHECK-NEXT: active_1: {{.*}} = R.astype(active, dtype="bfloat16")
def branches(x: bf16[4, 4], w: bf16[4, 4]) -> bf16[4, 4]:
    left = R.matmul(x, w)
    right = R.matmul(w, x)
    sum = R.add(left, right)
    active = R.nn.relu(sum)
    return active


# A single operator does not justify another rounding than the model's. A cast back uses the f32 value.
# CHECK-LABEL: def scores(
# CHECK: y: R.Tensor((4, 4), "float16") = R.matmul(x, w)
# CHECK-NEXT: masked: R.Tensor((4, 4), "float16") = R.add(y, mask)
# CHECK: z: R.Tensor((4, 4), "float32") = R.matmul(w, x, out_dtype="float32")
# CHECK-NEXT: e: R.Tensor((4, 4), "float32") = R.exp(z)
def scores(x: f16[4, 4], w: f16[4, 4], mask: f16[4, 4]) -> R.Tuple(f16[4], f32[4, 4]):
    y = R.matmul(x, w)
    masked = R.add(y, mask)
    largest = R.max(masked, axis=[1])
    z = R.matmul(w, x)
    wide = R.astype(z, dtype="float32")
    e = R.exp(wide)
    return largest, e


# Views, sums and other products take 16 bits, products with other users than elementwise ones return them, and wide
# ones stay.
# CHECK-LABEL: def others(
# CHECK: a: R.Tensor((4, 4), "bfloat16") = R.matmul(x, w)
# CHECK-NEXT: b: {{.*}} = R.permute_dims(a
# CHECK-NEXT: c: R.Tensor((4, 4), "bfloat16") = R.matmul(b, w)
# CHECK-NEXT: d: R.Tensor((4, 4), "bfloat16") = R.nn.relu(c)
# CHECK-NEXT: e: R.Tensor((4, 4), "bfloat16") = R.matmul(c, d)
# CHECK-NEXT: f: R.Tensor((4, 4), "float32") = R.matmul(x, w, out_dtype="float32")
# CHECK-NEXT: g: R.Tensor((4, 4), "float32") = R.nn.relu(f)
# CHECK-NEXT: h: R.Tensor((4, 4), "bfloat16") = R.matmul(x, x)
# CHECK-NEXT: i: R.Tensor((4,), "bfloat16") = R.max(h
def others(x: bf16[4, 4], w: bf16[4, 4]) -> R.Tuple(bf16[4, 4], f32[4, 4], bf16[4]):
    a = R.matmul(x, w)
    b = R.permute_dims(a)
    c = R.matmul(b, w)
    d = R.nn.relu(c)
    e = R.matmul(c, d)
    f = R.matmul(x, w, out_dtype="float32")
    g = R.nn.relu(f)
    h = R.matmul(x, x)
    i = R.max(h, axis=[1])
    return e, g, i


# Several elementwise operators read the same f32: their results are rounded once.
# CHECK-LABEL: def shared(
# CHECK: a: R.Tensor((4, 4), "float32") = R.nn.relu(y)
# CHECK-NEXT: b: R.Tensor((4, 4), "float32") = R.nn.gelu(a)
# CHECK-NEXT: c: R.Tensor((4, 4), "float32") = R.add(a, b)
# CHECK-NEXT: c_1: R.Tensor((4, 4), "bfloat16") = R.astype(c, dtype="bfloat16")
# CHECK-NEXT: return c_1
def shared(x: bf16[4, 4], w: bf16[4, 4]) -> bf16[4, 4]:
    y = R.matmul(x, w)
    a = R.nn.relu(y)
    b = R.nn.gelu(a)
    c = R.add(a, b)
    return c
