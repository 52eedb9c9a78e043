# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fuse-rms-norm --print-script | FileCheck %s
"""Results: test_launches.py."""


# As torch exports it.
# CHECK-LABEL: def exported(
# CHECK: y: R.Tensor(("n", 8), "float32") = R.nn.rms_norm(x, w, epsilon=0.5)
# CHECK-NEXT: return y
def exported(x: f32[n, 8], w: f32[8]) -> f32[n, 8]:
    m = R.mean(R.power(x, R.const(2.0, "float32")), axis=(-1,), keepdims=True)
    d = R.sqrt(R.add(m, R.const(0.5, "float32")))
    y = R.multiply(R.multiply(x, R.divide(R.const(1.0, "float32"), d)), w)
    return y


# The same in other words.
# CHECK-LABEL: def others(
# CHECK-COUNT-2: R.nn.rms_norm(x, w, epsilon=0.5)
# CHECK-NOT: R.sqrt
# CHECK: return
def others(x: f32[2, 8], w: f32[8]) -> R.Tuple(f32[2, 8], f32[2, 8]):
    m = R.mean(R.multiply(x, x), axis=(1,), keepdims=True)
    y = R.multiply(w, R.multiply(R.rsqrt(R.add(R.const(0.5, "float32"), m)), x))
    k = R.mean(R.square(x), axis=(1,), keepdims=True)
    z = R.multiply(R.divide(x, R.sqrt(R.add(k, R.const(0.5, "float32")))), w)
    return y, z


# Not fused: means of columns, means of rows across columns, means of another value, weights per row, halves with a
# rounding after each step.
# CHECK-LABEL: def stays(
# CHECK-NOT: rms_norm
def stays(x: f32[8, 8], z: f32[8, 8], w: f32[8], r: f32[8, 1], h: f16[8, 8], v: f16[8]) -> R.Tuple(
    f32[8, 8], f32[8, 8], f32[8, 8], f16[8, 8], f32[8, 8]
):
    e = R.const(0.5, "float32")
    m = R.mean(R.multiply(x, x), axis=(0,), keepdims=True)
    a = R.multiply(R.divide(x, R.sqrt(R.add(m, e))), w)
    k = R.mean(R.multiply(z, x), axis=(1,), keepdims=True)
    b = R.multiply(R.divide(x, R.sqrt(R.add(k, e))), w)
    q = R.mean(R.multiply(x, x), axis=(1,), keepdims=True)
    c = R.multiply(R.divide(x, R.sqrt(R.add(q, e))), r)
    o = R.mean(R.multiply(h, h), axis=(1,), keepdims=True)
    d = R.multiply(R.divide(h, R.sqrt(R.add(o, R.const(0.5, "float16")))), v)
    s = R.mean(R.multiply(x, x), axis=(1,))
    f = R.multiply(R.divide(x, R.sqrt(R.add(s, e))), w)
    return a, b, c, d, f
