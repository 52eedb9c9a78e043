# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fuse-attention --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-fuse-attention='least=3' --print-script | FileCheck %s --check-prefix=FEW
# RUN: graphs %s | not relax-opt - --relax-fuse-attention='least=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
"""Exporters' form of scaled_dot_product_attention. Results: test_fuse_attention.py."""

# NEGATIVE: least must be 0 or more, got -1


# The queries have been permuted before; the keys are turned for the product.
# CHECK-LABEL: def plain(
# CHECK: [[K:[a-z_0-9]+]]: {{.*}} = R.permute_dims(k, axes=(0, 1, 3, 2))
# CHECK: R.permute_dims([[K]], axes=(0, 2, 1, 3))
# CHECK: R.nn.attention({{.*}}, scale=1.0, blind="nan")
# CHECK-NEXT: y_5: {{.*}} = R.permute_dims({{.*}}, axes=(0, 2, 1, 3))
# CHECK-NEXT: return y_5
def plain(q: f32[2, 3, 9, 4], k: f32[2, 3, 4, 7], v: f32[2, 3, 7, 5]) -> f32[2, 3, 9, 5]:
    p = R.nn.softmax(R.matmul(q, k))
    y = R.matmul(p, v)
    return y


# As torch exports it: both operands scaled, keys turned as one batch, a mask added, NaN taken out.
# CHECK-LABEL: def exported(
# CHECK-NOT: R.matmul
# CHECK: R.permute_dims(q, axes=(0, 2, 1, 3))
# CHECK: R.permute_dims(k, axes=(0, 2, 1, 3))
# CHECK: R.permute_dims(v, axes=(0, 2, 1, 3))
# CHECK: R.nn.attention_bias({{.*}}, mask, scale=0.125)
def exported(q: f32[b, 3, n, 64], k: f32[b, 3, n, 64], v: f32[b, 3, n, 64], mask: f32[b, 1, n, n]) -> f32[b, 3, n, 64]:
    flat = R.permute_dims(R.reshape(k, ("3 * b", "n", 64)), axes=(0, 2, 1))
    turned = R.multiply(R.reshape(flat, ("b", 3, 64, "n")), R.const(0.25, "float32"))
    s = R.add(R.matmul(R.multiply(q, R.const(0.5, "float32")), turned), mask)
    p = R.nn.softmax(s)
    y = R.matmul(R.where(R.isnan(p), R.const(0.0, "float32"), p), v)
    return y


# Scores divided; a mask of two dimensions, before the scores.
# CHECK-LABEL: def divided(
# CHECK: [[M:[a-z_0-9]+]]: {{.*}} = R.expand_dims(mask, axis=(0, 1))
# CHECK: R.nn.attention_bias({{.*}}, [[M]], scale=0.5, blind="nan")
def divided(q: f32[1, 3, 9, 4], k: f32[1, 3, 4, 9], v: f32[1, 3, 9, 4], mask: f32[9, 9]) -> f32[1, 3, 9, 4]:
    p = R.nn.softmax(R.add(mask, R.divide(R.matmul(q, k), R.const(2.0, "float32"))))
    y = R.matmul(p, v)
    return y


# Two heads of keys and values for four heads of queries need no copies.
# CHECK-LABEL: def groups(
# CHECK: R.permute_dims(q, axes=(0, 2, 1, 3))
# CHECK: R.permute_dims(k, axes=(0, 2, 1, 3))
# CHECK: R.permute_dims(v, axes=(0, 2, 1, 3))
# CHECK: R.nn.attention(
def groups(q: f32[1, 4, n, 8], k: f32[1, 2, n, 8], v: f32[1, 2, n, 8]) -> f32[1, 4, n, 8]:
    keys = R.reshape(R.broadcast_to(R.expand_dims(k, axis=[2]), (1, 2, 2, "n", 8)), (4, "n", 8))
    turned = R.reshape(R.permute_dims(keys, axes=(0, 2, 1)), (1, 4, 8, "n"))
    values = R.reshape(R.broadcast_to(R.expand_dims(v, axis=[2]), (1, 2, 2, "n", 8)), (1, 4, "n", 8))
    y = R.matmul(R.nn.softmax(R.matmul(q, turned)), values)
    return y


# Keys and values of earlier calls, which grow in a buffer, are read there; others are joined, and not turned.
# CHECK-LABEL: def kept(
# CHECK-NOT: R.strided_slice
# CHECK: R.nn.attention_cached(
# CHECK-NEXT: {{[a-z_0-9]+}}, key, value, mask, R.prim_value("n + past"), scale=0.5, blind="nan",
def kept(
    q: f32[b, 4, n, 8],
    key: f32[b, 2, n + past + room, 8],
    value: f32[b, 2, n + past + room, 8],
    mask: f32[b, 1, n, n + past],
) -> f32[b, 4, n, 8]:
    k = R.strided_slice(key, axes=(2,), begin=(0,), end=("n + past",))
    v = R.strided_slice(value, axes=(2,), begin=(0,), end=("n + past",))
    keys = R.broadcast_to(R.expand_dims(k, axis=[2]), ("b", 2, 2, "n + past", 8))
    values = R.broadcast_to(R.expand_dims(v, axis=[2]), ("b", 2, 2, "n + past", 8))
    turned = R.permute_dims(R.reshape(keys, ("b", 4, "n + past", 8)), axes=(0, 1, 3, 2))
    s = R.multiply(R.matmul(q, turned), R.const(0.5, "float32"))
    p = R.nn.softmax(R.add(s, mask))
    y = R.matmul(p, R.reshape(values, ("b", 4, "n + past", 8)))
    return y


# CHECK-LABEL: def joined(
# CHECK: [[KEYS:[a-z_0-9]+]]: {{.*}} = R.concat((key, new), axis=2)
# CHECK: [[VALUES:[a-z_0-9]+]]: {{.*}} = R.concat((value, new), axis=2)
# CHECK: R.nn.attention_cached(
# CHECK-NEXT: {{[a-z_0-9]+}}, [[KEYS]], [[VALUES]], length=R.prim_value("n + past"), scale=1.0, blind="nan",
def joined(
    q: f32[1, 2, n, 8], new: f32[1, 2, n, 8], key: f32[1, 2, past, 8], value: f32[1, 2, past, 8]
) -> f32[1, 2, n, 8]:
    k = R.concat((key, new), axis=2)
    v = R.concat((value, new), axis=2)
    y = R.matmul(R.nn.softmax(R.matmul(q, R.permute_dims(k, axes=(0, 1, 3, 2)))), v)
    return y


# Few queries have few scores.
# CHECK-LABEL: def few(
# CHECK: R.nn.softmax(
# FEW-LABEL: def few(
# FEW: R.nn.attention(
def few(q: f32[2, 3, 3, 4], k: f32[2, 3, 4, 7], v: f32[2, 3, 7, 5]) -> f32[2, 3, 3, 5]:
    y = R.matmul(R.nn.softmax(R.matmul(q, k)), v)
    return y


# Where nothing is to be copied for it, they are read as they lie.
# CHECK-LABEL: def few_by_heads(
# CHECK: R.nn.attention_cached(
# CHECK-NEXT: {{[a-z_0-9]+}}, k, v, length=R.prim_value(7),
def few_by_heads(q: f32[2, 3, 3, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 5]) -> f32[2, 3, 3, 5]:
    y = R.matmul(R.nn.softmax(R.matmul(q, R.permute_dims(k, axes=(0, 1, 3, 2)))), v)
    return y


# Not fused: other users of probabilities or scores; another axis; NaN replaced by ones; a mask that increases
# scores; batches that broadcast.
# CHECK-LABEL: def stays(
# CHECK-NOT: R.nn.attention
# CHECK: return
def stays(
    q: f32[1, 3, 9, 4], k: f32[1, 3, 4, 9], v: f32[1, 3, 9, 4], two: f32[2, 3, 9, 4], mask: f32[2, 1, 9, 9]
) -> R.Tuple(
    f32[1, 3, 9, 4],
    f32[1, 3, 9, 9],
    f32[1, 3, 9, 4],
    f32[1, 3, 9, 9],
    f32[1, 3, 9, 4],
    f32[1, 3, 9, 4],
    f32[2, 3, 9, 4],
    f32[2, 3, 9, 4],
):
    p = R.nn.softmax(R.matmul(q, k))
    a = R.matmul(p, v)
    s = R.matmul(q, k)
    b = R.matmul(R.nn.softmax(s), v)
    c = R.matmul(R.nn.softmax(R.matmul(q, k), axis=2), v)
    r = R.nn.softmax(R.matmul(q, k))
    d = R.matmul(R.where(R.isnan(r), R.const(1.0, "float32"), r), v)
    e = R.matmul(R.nn.softmax(R.add(R.matmul(q, k), mask)), two)
    f = R.matmul(R.nn.softmax(R.matmul(two, k)), two)
    return a, p, b, s, c, d, e, f
