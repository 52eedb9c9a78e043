# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft's attention and rotary embeddings, into which onnxruntime's tools fuse many nodes."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.core.symbols import equal
from relax_mlir.frontends.core.control.scf_regions import scalar_of
from relax_mlir.frontends.core.sizes import as_tensor, size_of, zeros
from relax_mlir.frontends.onnx.operators.attention import (
    Visible,
    attend,
    check_heads,
    join_heads,
    positions,
    rotated,
    scale_of,
    sizes,
    split_heads,
    within,
)
from relax_mlir.frontends.onnx.operators.products import shifted
from relax_mlir.frontends.onnx.prelude import OnnxNode, Outputs, Tensor, Value, const, part, register_onnx, relax

# Type in which onnxruntime computes softmax. These operators are onnxruntime's own.
_PRECISION = {"f16": "f32", "bf16": "f32"}

_DOMAIN = "com.microsoft"


def _refuse_inputs(node: OnnxNode, **places: int) -> None:
    for name, place in places.items():
        if node.has(place):
            raise node.fail(f"input '{name}' is not supported")


def _refuse_attributes(node: OnnxNode, *names: str) -> None:
    for name in names:
        if node.int(name, 0) > 0:
            raise node.fail("is not supported", name)


def _heads(node: OnnxNode, name: str = "num_heads") -> int:
    if (heads := int(node.int(name, 0))) < 1:
        raise node.fail("must be positive", name)
    return heads


# ---- RotaryEmbedding ----


@register_onnx(_DOMAIN, "RotaryEmbedding")
def rotary_embedding(node: OnnxNode) -> Outputs:
    _refuse_attributes(node, "is_packed_batching")
    data, cos = node.tensor(0), node.tensor(2)
    is_flat = node.rank(0) == 3
    width = node.int("rotary_embedding_dim", 0)
    half = sizes(cos)[1]
    if is_flat:
        hidden = sizes(data)[2]
        if not isinstance(hidden, int) or not isinstance(half, int):
            raise node.fail("the sizes of the hidden state and of the caches must be known")
        data = split_heads(node, data, node.int("num_heads", 0) or hidden // (2 * half))
    places = node.tensor(1)
    if node.rank(1) == 1:
        # A single number is the position of the first element of a sequence.
        places = relax.expand_dims(relax.add(positions(node, data, 2), places), axis=[0])
    turned = _rotate_by_caches(node, data, places, width)
    return join_heads(turned) if is_flat else turned


def _rotate_by_caches(
    node: OnnxNode, data: Tensor, places: Tensor, width: int, caches: tuple[int, int] = (2, 3)
) -> Tensor:
    """Rotate heads by the angles in the caches at the positions [batch, length]."""
    cos, sin = (relax.expand_dims(relax.take(node.tensor(cache), places, axis=0), axis=[1]) for cache in caches)
    interleaved = bool(node.int("interleaved", 0) or node.int("rotary_interleaved", 0))
    return rotated(node, data, cos, sin, width, interleaved)


# ---- MultiHeadAttention ----


@register_onnx(_DOMAIN, "MultiHeadAttention")
def multi_head_attention(node: OnnxNode) -> Outputs:
    _refuse_inputs(node, past_sequence_length=8, cache_indirection=9)
    if node.output_count > 3:
        raise node.fail("the output of scores is not supported")
    query, key, value = _inputs_of_heads(node)
    past = (node.tensor(6), node.tensor(7)) if node.has(6) else None
    mask = node.value(4) if node.has(4) else None
    return _attention(node, (query, key, value), mask, node.optional(5), past)


def _inputs_of_heads(node: OnnxNode) -> list[Tensor]:
    heads = _heads(node)
    if node.rank(0) == 5 or (node.has(1) and node.rank(1) == 5):
        raise node.fail("packed queries, keys and values are not supported: give them as 3-D tensors")
    inputs = []
    begin = 0
    for place in range(3):
        tensor = node.tensor(place)
        if node.rank(place) == 4:
            inputs.append(tensor)
            continue
        width = sizes(tensor)[2]
        if node.has(3) and isinstance(width, int):
            tensor = relax.add(tensor, part(node.tensor(3), 0, begin, begin + width))
            begin += width
        inputs.append(split_heads(node, tensor, heads))
    return inputs


def _attention(
    node: OnnxNode, heads: Sequence[Tensor], mask: Value | None, bias: Tensor | None, past: Sequence[Tensor] | None
) -> list[Tensor]:
    """Return the result, and keys and values including the past."""
    query, key, value = heads
    if past is not None:
        key, value = relax.concat([past[0], key], axis=2), relax.concat([past[1], value], axis=2)
    check_heads(node, query, key, value)
    dtype = Value(ssa=query).dtype
    visible = Visible()
    if mask is not None:
        shown = _shown_keys(node, mask, query, key)
        filtered = const(node.float("mask_filter_value", -10000.0), dtype)
        visible = visible.plus(relax.where(shown, const(0, dtype), filtered))
    if bias is not None:
        visible = visible.plus(bias)
    if node.int("unidirectional", 0):
        # The last query has the position of the last key.
        keys, queries = as_tensor([size_of(key, 2)]), as_tensor([size_of(query, 2)])
        first = relax.subtract(keys, queries)
        own = relax.expand_dims(relax.add(positions(node, query, 2), first), axis=[1])
        visible = within(visible, own, positions(node, key, 2), -1, 0)
    made = attend(query, key, value, scale_of(node, query), visible, 0.0, _PRECISION.get(dtype, ""), may_be_blind=False)
    return [join_heads(made.result), key, value]


def _shown_keys(node: OnnxNode, mask: Value, query: Tensor, key: Tensor) -> Tensor:
    """Return the keys that an integer mask shows: one row per batch or per query, or the number of keys."""
    zero = const(0, mask.dtype)
    if mask.rank == 2:
        return relax.expand_dims(relax.not_equal(mask.ssa, zero), axis=[1, 2])
    if mask.rank == 3:
        return relax.expand_dims(relax.not_equal(mask.ssa, zero), axis=[1])
    if mask.rank == 1 and equal((mask.shape or (None,))[0], sizes(query)[0]) is True:
        lengths = relax.astype(mask.ssa, dtype="i64")
        return relax.less(positions(node, key, 2), relax.expand_dims(lengths, axis=[1, 2, 3]))
    raise node.fail(f"a mask of shape {mask.shape} is not supported: give [batch, keys] or [batch, queries, keys]")


# ---- Attention ----


@register_onnx(_DOMAIN, "Attention")
def attention(node: OnnxNode) -> Outputs:
    """Convert Attention, in which queries, keys and values are products of one input."""
    _refuse_attributes(node, "do_rotary", "past_present_share_buffer")
    _refuse_inputs(node, past_sequence_length=6)
    projected = relax.matmul(node.tensor(0), node.tensor(1))
    if node.has(2):
        projected = relax.add(projected, node.tensor(2))
    return _attention_of(node, projected, mask=3, past=4, bias=5)


@register_onnx(_DOMAIN, "QAttention")
def quantized_attention(node: OnnxNode) -> Outputs:
    """Convert QAttention: Attention with quantized input and weights."""
    _refuse_attributes(node, "do_rotary", "past_present_share_buffer")
    sums = relax.matmul(shifted(node, 0, 6), shifted(node, 1, 7), out_dtype="i32")
    scale = relax.multiply(node.tensor(3), node.tensor(4))
    projected = relax.multiply(relax.astype(sums, dtype=node.value(3).dtype), scale)
    return _attention_of(node, relax.add(projected, node.tensor(2)), mask=5, past=8, bias=9)


def _attention_of(node: OnnxNode, projected: Tensor, mask: int, past: int, bias: int) -> Outputs:
    """Return attention of joined queries, keys and values. The other arguments are indices of inputs."""
    if not isinstance(width := sizes(projected)[2], int):
        raise node.fail("the sizes of the weights must be known")
    widths = node.ints("qkv_hidden_sizes", None) or [width // 3] * 3
    if len(widths) != 3 or sum(widths) != width:
        raise node.fail(f"must be three sizes whose sum is {width}", "qkv_hidden_sizes")
    parts = relax.split(projected, indices_or_sections=[widths[0], widths[0] + widths[1]], axis=2)
    heads = [split_heads(node, each, _heads(node)) for each in parts]
    before = [part(node.tensor(past), 0, index, index + 1, drop=True) for index in range(2)] if node.has(past) else None
    shown = node.value(mask) if node.has(mask) else None
    result, key, value = _attention(node, heads, shown, node.optional(bias), before)
    return [result, relax.stack([key, value], axis=0)] if node.output_count > 1 else result


# ---- GroupQueryAttention ----


@register_onnx(_DOMAIN, "GroupQueryAttention")
def group_query_attention(node: OnnxNode) -> Outputs:
    """Convert GroupQueryAttention: causal attention over a cache, which each sequence fills to its own length."""
    _refuse_attributes(node, "kv_cache_bit_width", "qk_output")
    _refuse_inputs(node, k_scale=12, v_scale=13)
    if node.output_count > 3:
        raise node.fail("the output of scores is not supported")
    query, key, value = _grouped_heads(node)
    lengths = relax.astype(relax.reshape(node.tensor(5), (-1,)), dtype="i64")
    # The input is each sequence's last position. The past's keys precede the first new key.
    first = relax.subtract(relax.add(lengths, const(1, "i64")), as_tensor([size_of(query, 2)]))
    first = relax.maximum(first, const(0, "i64"))
    own = relax.add(relax.expand_dims(first, axis=[1]), positions(node, query, 2))
    if node.int("do_rotary", 0):
        places, half = node.tensor(9) if node.has(9) else own, sizes(node.tensor(7))[1]
        if not isinstance(half, int):
            raise node.fail("the sizes of the caches of angles must be known")
        query, key = (_rotate_by_caches(node, each, places, 2 * half, (7, 8)) for each in (query, key))
    if node.has(3):
        # The cache grows if it is too short for all keys.
        total = relax.astype(relax.reshape(node.tensor(6), (1,)), dtype="i64")
        length = relax.maximum(as_tensor([size_of(node.tensor(3), 2)]), total)
        places = relax.arange(0, scalar_of(node, Value(ssa=length)), 1, dtype="i64")
        key, value = (_update_cache(node.tensor(3 + at), new, first, places) for at, new in enumerate((key, value)))
    check_heads(node, query, key, value)
    visible = Visible(bias=node.optional(10))
    window = node.int("local_window_size", -1)
    rows = relax.expand_dims(own, axis=[1, 3])
    visible = within(visible, rows, positions(node, key, 2), window - 1 if window > 0 else -1, 0)
    scale, softcap = scale_of(node, query), node.float("softcap", 0.0)
    precision = _PRECISION.get(node.value(0).dtype, "")
    made = attend(query, key, value, scale, visible, softcap, precision, may_be_blind=False, sink=_sink(node))
    return [join_heads(made.result), key, value][: node.output_count]


def _sink(node: OnnxNode) -> Tensor | None:
    """Return the score of each head to which no value belongs: an input, or zeros with a smooth softmax."""
    if node.has(11):
        return node.tensor(11)
    return zeros([_heads(node)], "f32") if node.int("smooth_softmax", 0) > 0 else None


def _grouped_heads(node: OnnxNode) -> list[Tensor]:
    heads, shared = _heads(node), _heads(node, "kv_num_heads")
    if node.has(1):
        tensors = [node.tensor(place) for place in range(3)]
    else:
        width = sizes(node.tensor(0))[2]
        if not isinstance(width, int) or width % (heads + 2 * shared):
            raise node.fail(f"a hidden size of {width} cannot be split into {heads} + 2 * {shared} heads")
        size = width // (heads + 2 * shared)
        borders = [heads * size, (heads + shared) * size]
        tensors = list(relax.split(node.tensor(0), indices_or_sections=borders, axis=2))
    return [split_heads(node, tensor, count) for tensor, count in zip(tensors, (heads, shared, shared), strict=True)]


def _update_cache(past: Tensor, new: Tensor, first: Tensor, places: Tensor) -> Tensor:
    """Insert new keys or values behind the end of each sequence's past."""
    have, added = (as_tensor([size_of(tensor, 2)]) for tensor in (past, new))
    places = relax.expand_dims(places, axis=[0])
    # Both are joined first, and each position gathers its element from the joined tensor.
    behind = relax.subtract(places, relax.expand_dims(first, axis=[1]))
    is_new = relax.logical_and(relax.greater_equal(behind, const(0, "i64")), relax.less(behind, added))
    kept = relax.minimum(places, relax.subtract(relax.add(have, added), const(1, "i64")))
    source = relax.where(is_new, relax.add(behind, have), kept)
    both = relax.permute_dims(relax.concat([past, new], axis=2), axes=[0, 2, 1, 3])
    taken = relax.gather_nd(both, relax.expand_dims(source, axis=[2]), batch_dims=1)
    return relax.permute_dims(taken, axes=[0, 2, 1, 3])
