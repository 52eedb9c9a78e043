# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-regroup-heads --relax-canonicalize --print-script | FileCheck %s
"""Heads that share keys and values become rows of one product. Numerics: test_regroup_heads.py."""


# Eight heads of queries, two of keys: four times as many rows, and nothing is repeated.
# CHECK-LABEL: def repeated(
# CHECK-NOT: R.broadcast_to
# CHECK: reshape_0: {{.*}} = R.reshape(q, ("b", 2, "4*s", 64))
# CHECK-NEXT: matmul_0: {{.*}} = R.matmul(reshape_0, k)
# CHECK-NEXT: R.reshape(matmul_0, ("b", 8, "s", "n"))
def repeated(q: f32[b, 8, s, 64], k: f32[b, 2, 64, n]) -> f32[b, 8, s, n]:
    one = R.expand_dims(k, axis=(2,))
    several = R.broadcast_to(one, ("b", 2, 4, 64, "n"))
    heads = R.reshape(several, ("b", 8, 64, "n"))
    return R.matmul(q, heads)


# Torch's form: batches and heads are one dimension on the way, and the scale of the scores moves to the queries, of
# which there are at most as many as keys.
# CHECK-LABEL: def turned(
# CHECK: R.multiply(q, R.const(0.5, "float32"))
# CHECK: permute_dims_0: {{.*}} = R.permute_dims(k, axes=(0, 1, 3, 2))
# CHECK-NOT: R.multiply
# CHECK: R.matmul(reshape_0, permute_dims_0)
def turned(q: f32[b, 8, s, 64], k: f32[b, 2, n + s, 64]) -> f32[b, 8, s, n + s]:
    one = R.expand_dims(k, axis=(2,))
    several = R.broadcast_to(one, ("b", 2, 4, "n + s", 64))
    flat = R.reshape(several, ("8*b", "n + s", 64))
    turned = R.permute_dims(flat, axes=(0, 2, 1))
    heads = R.reshape(turned, ("b", 8, 64, "n + s"))
    scaled = R.multiply(heads, R.const(0.5, "float32"))
    return R.matmul(q, scaled)


# Keys in a buffer that calls go on with are read as they lie there.
# CHECK-LABEL: def kept(
# CHECK-NOT: R.permute_dims
# CHECK: R.einsum((q, k), subscripts="abik,abjk->abij")
def kept(q: f32[b, 2, s, 64], buffer: f32[b, 2, n + room, 64]) -> f32[b, 2, s, n]:
    written = R.call_tir_inplace(cls.write, (buffer,), inplace_indices=(0,), out_sinfo=f32[b, 2, n + room, 64])
    k = R.strided_slice(written, axes=(2,), begin=(0,), end=("n",))
    return R.matmul(q, R.permute_dims(k, axes=(0, 1, 3, 2)))


@T.prim_func(private=True)
def write(x: T.Buffer(("?", 2, "?", 64), "float32")):
    return


# More queries than keys are not scaled in the keys' place; other heads stay, and dimensions that only look alike.
# CHECK-LABEL: def other(
# CHECK: scaled: {{.*}} = R.multiply(k, R.const(
# CHECK: R.broadcast_to(
# CHECK: R.matmul(q, scaled)
# CHECK: R.matmul(q, heads)
def other(q: f32[b, 8, 100, 64], k: f32[b, 8, 64, 10], v: f32[b, 1, 2, 64, 10]) -> R.Tuple(
    f32[b, 8, 100, 10], f32[b, 8, 100, 10]
):
    scaled = R.multiply(k, R.const(0.5, "float32"))
    several = R.broadcast_to(v, ("b", 4, 2, 64, 10))
    heads = R.reshape(several, ("b", 8, 64, 10))
    return R.matmul(q, scaled), R.matmul(q, heads)
