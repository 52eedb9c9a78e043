# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of ONNX's attention and rotary embeddings. Tensors are [batch, heads, length, head size]."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ....dialects.core.infos import is_bool
from ....dialects.core.symbols import dim_sub, equal
from ....support.suggest import counted
from ...core.control.scf_regions import scalar_of
from ...core.sizes import as_tensor, broadcast, is_known, reshaped, size_of, sizes_of, sliced, times
from ..prelude import OnnxNode, Outputs, Tensor, Value, cast, const, joined, part, register_onnx, relax
from .activations import softmax_along


class Attended(NamedTuple):
    """Result and intermediate values of attention. All but the result are [batch, heads, queries, keys]."""

    result: Tensor
    products: Tensor
    capped: Tensor
    masked: Tensor
    probabilities: Tensor


class Visible(NamedTuple):
    """Visibility of keys to queries, broadcast. A key is visible where `allowed`; `bias` is added to its score."""

    allowed: Tensor | None = None
    bias: Tensor | None = None

    @property
    def hides(self) -> bool:
        return self.allowed is not None or self.bias is not None

    def only(self, condition: Tensor) -> Visible:
        allowed = condition if self.allowed is None else relax.logical_and(self.allowed, condition)
        return Visible(allowed, self.bias)

    def plus(self, bias: Tensor) -> Visible:
        return Visible(self.allowed, bias if self.bias is None else relax.add(self.bias, bias))

    def blind(self, dtype: str) -> Tensor:
        """Return a mask of the queries to which no key is visible."""
        limit = const(-math.inf, dtype)
        bias = self.bias
        if self.allowed is not None:
            bias = relax.where(self.allowed, const(0, dtype) if bias is None else bias, limit)
        return relax.equal(relax.dialect.ops["max"](bias, axis=[-1], keepdims=True), limit)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    visible: Visible,
    softcap: float = 0.0,
    precision: str = "",
    may_be_blind: bool = True,
    sink: Tensor | None = None,
) -> Attended:
    """Return softmax(query @ key^T * scale) @ value. A head of key and value may serve several heads of query.

    `precision` is the type in which the softmax is computed, by default the operands' type. With `may_be_blind`,
    queries that see no key give zeros. A `sink` is one more score for each head; no value gets its share.
    """
    dtype, heads = Value(ssa=query).dtype, sizes(query)[1]
    # Each factor is multiplied by the square root of the scale, so that narrow types do not overflow.
    half = math.sqrt(abs(scale))
    transposed = relax.permute_dims(relax.multiply(key, const(half, dtype)), axes=[0, 1, 3, 2])
    products = _per_head(relax.multiply(query, const(math.copysign(half, scale), dtype)), transposed, heads)
    capped = products
    if softcap:
        cap = const(softcap, dtype)
        capped = relax.multiply(relax.tanh(relax.divide(products, cap)), cap)
    masked = capped if visible.bias is None else relax.add(capped, visible.bias)
    if visible.allowed is not None:
        masked = relax.where(visible.allowed, masked, const(-math.inf, dtype))
    scores = cast(masked, precision or dtype)
    shares = softmax_along(scores, -1) if sink is None else _compute_softmax_with_sink(scores, sink)
    probabilities = cast(shares, dtype)
    if may_be_blind and visible.hides:
        probabilities = relax.where(visible.blind(dtype), const(0, dtype), probabilities)
    return Attended(_per_head(probabilities, value, heads), products, capped, masked, probabilities)


def _compute_softmax_with_sink(scores: Tensor, sink: Tensor) -> Tensor:
    """Return the softmax of scores [batch, heads, queries, keys] and a sink [heads], without the sink's share."""
    own = sizes_of(Value(ssa=scores))
    column = broadcast(cast(relax.reshape(sink, (-1, 1, 1)), Value(ssa=scores).dtype), [*own[:3], 1])
    shares = softmax_along(relax.concat([scores, column], axis=3), -1)
    return sliced(Value(ssa=shares), {3: (0, own[3], 1)}, {3: own[3]})


def _per_head(left: Tensor, right: Tensor, heads: int) -> Tensor:
    """Multiply matrices per head. Heads that share a right operand are merged for the product."""
    shared = sizes(right)[1]
    if equal(heads, shared) is True:
        return relax.matmul(left, right)
    batch, queries = size_of(left, 0), size_of(left, 2)
    together = reshaped(left, [batch, shared, times(queries, heads // shared), size_of(left, 3)])
    return reshaped(relax.matmul(together, right), [batch, heads, queries, size_of(right, 3)])


def sizes(tensor: Tensor) -> tuple[Any, ...]:
    return Value(ssa=tensor).shape or ()


def positions(node: OnnxNode, tensor: Tensor, axis: int) -> Tensor:
    """Return 0, 1, ... for the positions along an axis."""
    size = size_of(tensor, axis)
    end = size if is_known(size) else scalar_of(node, Value(ssa=size))
    return relax.arange(0, end, 1, dtype="i64")


def split_heads(node: OnnxNode, tensor: Tensor, heads: int) -> Tensor:
    """Reshape [batch, length, heads * size] to [batch, heads, length, size]."""
    if len(sizes(tensor)) != 3:
        raise node.fail(f"queries, keys and values must have 3 or 4 dimensions each, got {len(sizes(tensor))}")
    width = sizes(tensor)[2]
    if heads < 1 or not isinstance(width, int) or width % heads:
        raise node.fail(f"a hidden size of {width} cannot be split into {counted(heads, 'head')}")
    apart = reshaped(tensor, [size_of(tensor, 0), size_of(tensor, 1), heads, width // heads])
    return relax.permute_dims(apart, axes=[0, 2, 1, 3])


def join_heads(tensor: Tensor) -> Tensor:
    _, heads, _, width = sizes(tensor)
    flat = relax.permute_dims(tensor, axes=[0, 2, 1, 3])
    return reshaped(flat, [size_of(tensor, 0), size_of(tensor, 2), heads * width])


def scale_of(node: OnnxNode, query: Tensor) -> float:
    return node.float("scale", None) or 1 / math.sqrt(sizes(query)[3])


def check_heads(node: OnnxNode, query: Tensor, key: Tensor, value: Tensor) -> None:
    if (ranks := [len(sizes(tensor)) for tensor in (query, key, value)]) != [4, 4, 4]:
        raise node.fail(f"queries, keys and values must have 3 or 4 dimensions each, got {ranks}")
    heads = [sizes(tensor)[1] for tensor in (query, key, value)]
    if not all(isinstance(head, int) and head > 0 for head in heads):
        raise node.fail("numbers of heads must be known")
    if heads[1] != heads[2] or heads[0] % heads[1]:
        raise node.fail(f"{heads[0]} heads of queries do not fit {heads[1]} of keys and {heads[2]} of values")
    widths = [sizes(tensor)[3] for tensor in (query, value)]
    if not all(isinstance(width, int) and width > 0 for width in widths):
        raise node.fail("the sizes of heads must be known, and not 0")


# ---- Attention ----


@register_onnx("", "Attention", since=23)
def attention(node: OnnxNode) -> Outputs:
    rank = node.rank(0)
    query, key, value = (node.tensor(index) for index in range(3))
    if rank == 3:
        heads, shared = node.int("q_num_heads", 0), node.int("kv_num_heads", 0)
        query, key, value = (
            split_heads(node, each, count) for each, count in ((query, heads), (key, shared), (value, shared))
        )
    if node.has(4):
        key = relax.concat([node.tensor(4), key], axis=2)
        value = relax.concat([node.tensor(5), value], axis=2)
    check_heads(node, query, key, value)
    precision = node.dtype("softmax_precision", "")
    visible = _visible(node, query, key)
    made = attend(query, key, value, scale_of(node, query), visible, node.float("softcap", 0.0), precision)
    result = join_heads(made.result) if rank == 3 else made.result
    if (mode := node.int("qk_matmul_output_mode", 0)) not in range(4):
        raise node.fail("must be 0, 1, 2 or 3", "qk_matmul_output_mode")
    return [result, key, value, made[1 + mode]][: node.output_count]


def _visible(node: OnnxNode, query: Tensor, key: Tensor) -> Visible:
    visible = Visible()
    if node.has(3):
        if not 1 <= node.rank(3) <= 4:
            raise node.fail(f"the mask must have 1 to 4 dimensions, not {node.rank(3)}")
        mask = _whole_mask(node, node.tensor(3), key)
        is_allowed = is_bool(Value(ssa=mask).dtype)
        visible = visible.only(mask) if is_allowed else visible.plus(mask)
    causal, left, right = node.int("is_causal", 0), node.int("left_window_size", -1), node.int("right_window_size", -1)
    lengths = node.tensor(6) if node.has(6) else None
    if causal or left >= 0 or right >= 0:
        places = positions(node, key, 2)
        own = relax.add(relax.expand_dims(positions(node, query, 2), axis=[1]), _offset(node, query, lengths))
        visible = within(visible, own, places, left, 0 if causal else right)
    if lengths is not None:
        visible = visible.only(relax.less(positions(node, key, 2), relax.expand_dims(lengths, axis=[1, 2, 3])))
    return visible


def within(visible: Visible, own: Tensor, places: Tensor, left: int, right: int) -> Visible:
    """Hide the keys further than `left` before or `right` behind a query's own position. -1 means no limit."""
    if right >= 0:
        last = own if right == 0 else relax.add(own, const(right, "i64"))
        visible = visible.only(relax.less_equal(places, last))
    if left >= 0:
        visible = visible.only(relax.greater_equal(places, relax.subtract(own, const(left, "i64"))))
    return visible


def _offset(node: OnnxNode, query: Tensor, lengths: Tensor | None) -> Tensor:
    """Return the number of keys before the first query's own position."""
    if node.has(4):
        return as_tensor([size_of(node.tensor(4), 2)])
    if lengths is None:
        return const(0, "i64")
    return relax.expand_dims(relax.subtract(lengths, as_tensor([size_of(query, 2)])), axis=[1, 2, 3])


def _whole_mask(node: OnnxNode, mask: Tensor, key: Tensor) -> Tensor:
    """Extend a mask that is shorter than the keys. The keys behind it are hidden."""
    have, want = sizes(mask)[-1], sizes(key)[2]
    if have is None or want is None or equal(have, want) is True:
        return mask
    shape = sizes(mask)[:-1]
    if None in shape:
        raise node.fail("a mask that is shorter than the keys must have known sizes")
    dtype = Value(ssa=mask).dtype
    nothing = const(False, "i1") if is_bool(dtype) else const(-math.inf, dtype)
    return relax.concat([mask, relax.dialect.ops["full"]((*shape, dim_sub(want, have)), nothing, dtype=dtype)], axis=-1)


# ---- RotaryEmbedding ----


@register_onnx("", "RotaryEmbedding", since=23)
def rotary_embedding(node: OnnxNode) -> Outputs:
    data, cos, sin = (node.tensor(index) for index in range(3))
    if node.has(3):
        cos, sin = (relax.take(each, node.tensor(3), axis=0) for each in (cos, sin))
    rank = node.rank(0)
    if rank not in (3, 4) or any(len(sizes(each)) != 3 for each in (cos, sin)):
        raise node.fail(f"takes data of 3 or 4 dimensions, got {rank}, and caches of 3 dimensions for its positions")
    if rank == 3:
        data = split_heads(node, data, node.int("num_heads", 0))
    # All heads have the same rotation.
    cos, sin = (relax.expand_dims(each, axis=[1]) for each in (cos, sin))
    turned = rotated(node, data, cos, sin, node.int("rotary_embedding_dim", 0), bool(node.int("interleaved", 0)))
    return join_heads(turned) if rank == 3 else turned


def rotated(node: OnnxNode, data: Tensor, cos: Tensor, sin: Tensor, width: int, interleaved: bool) -> Tensor:
    """Rotate pairs of elements by angles. Elements behind `width` (0: all are rotated) stay unchanged."""
    if not isinstance(whole := sizes(data)[3], int):
        raise node.fail("the size of a head must be known")
    width = width or whole
    if width % 2 or width > whole:
        raise node.fail(f"{width} of {counted(whole, 'element')} cannot be rotated in pairs", "rotary_embedding_dim")
    if interleaved:
        first, second = (
            relax.strided_slice(data, axes=[3], begin=[begin], end=[width], strides=[2], assume_inbound=True)
            for begin in (0, 1)
        )
    else:
        first, second = part(data, 3, 0, width // 2), part(data, 3, width // 2, width)
    real = relax.subtract(relax.multiply(cos, first), relax.multiply(sin, second))
    imaginary = relax.add(relax.multiply(sin, first), relax.multiply(cos, second))
    if interleaved:
        pairs = relax.stack([real, imaginary], axis=-1)
        pieces = [reshaped(pairs, [*(size_of(data, axis) for axis in range(3)), width])]
    else:
        pieces = [real, imaginary]
    if width < whole:
        pieces.append(part(data, 3, width, whole))
    return joined(pieces, axis=-1)
