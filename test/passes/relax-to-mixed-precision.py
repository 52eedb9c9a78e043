# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-to-mixed-precision --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-to-mixed-precision='results=f32' --print-script | FileCheck %s --check-prefix=WIDE
# RUN: graphs %s | relax-opt - --relax-to-mixed-precision='dtype=bf16 keep=nn.gelu,up' --print-script | FileCheck %s --check-prefix=KEEP
# RUN: graphs %s | relax-opt - --relax-to-mixed-precision --relax-lift-transform-params='function=weights weights=w' --print-script | FileCheck %s --check-prefix=LIFTED
# RUN: graphs %s | not relax-opt - --relax-to-mixed-precision='dtype=f8' 2>&1 | FileCheck %s --check-prefix=DTYPE
# RUN: graphs %s | not relax-opt - --relax-to-mixed-precision='keep=relax.nn.geluu' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
"""Results are compared in test/python/passes/test_to_mixed_precision.py.
Counterpart in Apache TVM: test_transform_to_mixed_precision.py."""

# UNKNOWN: unknown operator 'relax.nn.geluu'; did you mean 'relax.nn.gelu'?
# DTYPE: option 'dtype' expects one of f16, bf16, got 'f8'


# Products are always computed in 16 bits, and later operators follow; visible results keep their type. The cast of
# x serves both products. Constants are rounded here.
# CHECK-LABEL: def mlp(
# CHECK: astype_0: R.Tensor((2, 2), "float16") = R.astype(w, dtype="float16")
# CHECK-NEXT: astype_1: R.Tensor(("n", 2), "float16") = R.astype(x, dtype="float16")
# CHECK-NEXT: up: R.Tensor(("n", 2), "float16") = R.matmul(astype_1, astype_0)
# CHECK-NEXT: biased: R.Tensor(("n", 2), "float16") = R.add(
# CHECK-NEXT: up, I.const(I.attr("dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf16>")),
# CHECK-NEXT: )
# CHECK-NEXT: active: R.Tensor(("n", 2), "float16") = R.nn.gelu(biased)
# CHECK-NEXT: down: R.Tensor(("n", 2), "float16") = R.matmul(active, astype_0)
# CHECK-NEXT: down_1: R.Tensor(("n", 2), "float32") = R.astype(down, dtype="float32")
# CHECK-NEXT: sum: R.Tensor(("n", 2), "float32") = R.add(x, down_1)
# CHECK-NEXT: return sum
# WIDE-LABEL: def mlp(
# WIDE: up: R.Tensor(("n", 2), "float32") = R.matmul({{.*}}, out_dtype="float32")
# WIDE-NEXT: biased: R.Tensor(("n", 2), "float32") = R.add(up,
# WIDE-NEXT: active: R.Tensor(("n", 2), "float32") = R.nn.gelu(biased)
# WIDE-NEXT: active_1: R.Tensor(("n", 2), "float16") = R.astype(active, dtype="float16")
# WIDE-NEXT: down: R.Tensor(("n", 2), "float32") = R.matmul({{.*}}, out_dtype="float32")
# KEEP-LABEL: def mlp(
# KEEP: up: R.Tensor(("n", 2), "float32") = R.matmul(x, w)
# KEEP: active: R.Tensor(("n", 2), "float32") = R.nn.gelu(biased)
# KEEP-NEXT: active_1: R.Tensor(("n", 2), "bfloat16") = R.astype(active, dtype="bfloat16")
# KEEP-NEXT: down: R.Tensor(("n", 2), "bfloat16") = R.matmul(active_1,
def mlp(x: f32[n, 2], w: f32[2, 2]) -> f32[n, 2]:
    up = R.matmul(x, w)
    biased = R.add(up, R.const([0.5, 0.25], "float32"))
    active = R.nn.gelu(biased)
    down = R.matmul(active, w)
    sum = R.add(x, down)
    return sum


# exp is never narrow: one cast serves all users of f32. Softmax follows its operand.
# CHECK-LABEL: def never(
# CHECK: y: R.Tensor((4, 4), "float16") = R.matmul(
# CHECK-NEXT: y_1: R.Tensor((4, 4), "float32") = R.astype(y, dtype="float32")
# CHECK-NEXT: e: R.Tensor((4, 4), "float32") = R.exp(y_1)
# CHECK-NEXT: s: R.Tensor((4, 4), "float16") = R.nn.softmax(y)
# CHECK-NEXT: s_1: {{.*}} = R.astype(s, dtype="float32")
# CHECK-NEXT: l: R.Tensor((4, 4), "float32") = R.log(y_1)
# CHECK-NEXT: f: R.Tensor((4, 4), "float32") = R.nn.softmax(e)
# CHECK-NEXT: return e, s_1, l, f, y_1
def never(x: f32[4, 4]) -> R.Tuple(f32[4, 4], f32[4, 4], f32[4, 4], f32[4, 4], f32[4, 4]):
    y = R.matmul(x, x)
    e = R.exp(y)
    s = R.nn.softmax(y)
    l = R.log(y)
    f = R.nn.softmax(e)
    return e, s, l, f, y


# A number beyond f16 stays, with its users.
# CHECK-LABEL: def large(
# CHECK: y_1: {{.*}} = R.astype(y, dtype="float32")
# CHECK-NEXT: m: R.Tensor((4, 4), "float32") = R.add(y_1, R.const(-1e+09, "float32"))
# CHECK-NEXT: return m
# KEEP-LABEL: def large(
# KEEP: m: R.Tensor((4, 4), "bfloat16") = R.add(y,
def large(x: f32[4, 4]) -> f32[4, 4]:
    y = R.matmul(x, x)
    m = R.add(y, R.const(-1e9, "float32"))
    return m


# Casts that a model has: to 16 bits they are nothing, from them they say that f32 is wanted.
# CHECK-LABEL: def casts(
# CHECK: y: R.Tensor((4, 4), "float16") = R.matmul(h, h)
# CHECK-NEXT: y_1: R.Tensor((4, 4), "float32") = R.astype(y, dtype="float32")
# CHECK-NEXT: d: R.Tensor((4, 4), "float64") = R.astype(y, dtype="float64")
# CHECK-NEXT: r: R.Tensor((4, 4), "float32") = R.nn.relu(u)
# CHECK-NEXT: return y, y_1, d, r
def casts(h: f16[4, 4]) -> R.Tuple(f16[4, 4], f32[4, 4], f64[4, 4], f32[4, 4]):
    u = R.astype(h, dtype="float32")
    y = R.matmul(u, u)
    z = R.astype(y, dtype="float16")
    d = R.astype(y, dtype="float64")
    r = R.nn.relu(u)
    return z, y, d, r


# Other floats, integers, calls: as they were.
# CHECK-LABEL: def others(
# CHECK: i: R.Tensor((4, 4), "int32") = R.matmul(k, k)
# CHECK-NEXT: e: R.Tensor((4, 4), "float64") = R.matmul(d, d)
# CHECK-NEXT: return i, e
def others(k: i32[4, 4], d: f64[4, 4]) -> R.Tuple(i32[4, 4], f64[4, 4]):
    i = R.matmul(k, k)
    e = R.matmul(d, d)
    return i, e


# A parameter is converted once, for all that read it, in branches too; where it is a weight, before the first call.
# CHECK-LABEL: def weights(
# CHECK: [[LOW:astype_[01]]]: R.Tensor((4, 4), "float16") = R.astype(w, dtype="float16")
# CHECK-NOT: R.astype(w,
# CHECK: if c:
# CHECK-NOT: R.astype(w,
# CHECK: return r
# LIFTED-LABEL: def weights_transform_params(
# LIFTED: R.astype(w, dtype="float16")
# LIFTED-LABEL: def weights(
# LIFTED: transformed: R.Tensor((4, 4), "float16"),
# LIFTED-NOT: R.astype(transformed
def weights(x: f32[n, 4], w: f32[4, 4], c: T.bool) -> f32[n, 4]:
    a = R.matmul(x, w)
    b = R.matmul(a, w)
    if c:
        r = R.matmul(b, w)
    else:
        r = R.matmul(x, w)
    return r
