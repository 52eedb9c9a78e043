# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of attention. Tensors are [..., heads, length, size] in torch, [batch, length, heads, size] in relax."""

from __future__ import annotations

import math

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, info_of, register_torch, relax, sizes


@register_torch("aten::scaled_dot_product_attention")
def scaled_dot_product_attention(node: TorchNode) -> Outputs:
    return _attend(node)


@register_torch(
    "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_fused_attention_overrideable",
)  # fmt: skip
def fused_attention(node: TorchNode) -> Outputs:
    """Return the result and the logarithm of each softmax row's sum. Further results are for the gradient only."""
    return [_attend(node), _log_of_sums(node) if node.is_wanted[1] else None]


@register_torch("aten::_scaled_dot_product_attention_math")
def attention_with_weights(node: TorchNode) -> Outputs:
    """Return the result and the weights of the values. A query that sees no key has weights of 0."""
    result = _attend(node)
    if not node.is_wanted[1]:
        return [result, None]
    weights = relax.nn.softmax(_scores(node), axis=-1)
    return [result, cast(relax.where(relax.isnan(weights), const(0, "f32"), weights), node.dtype_of_result(1))]


def _attend(node: TorchNode) -> Tensor:
    if node.float("dropout_p", 0.0) > 0:
        raise node.fail("it drops weights at random: call model.eval() before the model is imported", "dropout_p")
    query, key, value = _operands(node)
    lead = sizes.sizes_of(Value(ssa=query))[:-2]
    made = relax.nn.attention(
        _length_first(query, lead),
        _length_first(key, _own_lead(key)),
        _length_first(value, _own_lead(value)),
        bias=_bias(node, query, key),
        scale=node.float("scale", None),
        causal_mask="TopLeft" if node.bool("is_causal") else None,
    )
    rows = relax.permute_dims(made, axes=[0, 2, 1, 3])
    return rows if len(lead) == 2 else sizes.reshaped(rows, [*lead, *sizes.sizes_of(Value(ssa=rows))[2:]])


def _operands(node: TorchNode) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values with equal batch dimensions. Keys may have fewer heads than queries.

    Fused operators have no argument `enable_gqa`: a key head serves several query heads if there are fewer key heads.
    """
    given = [node.value(name) for name in ("query", "key", "value")]
    ranks = [each.rank or 0 for each in given]
    if min(ranks) < 2:
        raise node.fail("queries, keys and values must have at least 2 dimensions: length and head size")
    shared = 1 if node.bool("enable_gqa", "enable_gqa" not in node.arguments) and min(ranks) > 2 else 0
    batches = [sizes.sizes_of(each)[: (each.rank or 0) - 2 - shared] for each in given]
    if all(batch == batches[0] for batch in batches):
        query, key, value = (each.ssa for each in given)
        return query, key, value
    common = (node.sizes_of_result)[: max(ranks) - 2 - shared]
    query, key, value = (
        sizes.broadcast(each.ssa, [*common, *sizes.sizes_of(each)[(each.rank or 0) - 2 - shared :]]) for each in given
    )
    return query, key, value


def _own_lead(tensor: Tensor) -> list[sizes.Size]:
    return sizes.sizes_of(Value(ssa=tensor))[:-2]


def _length_first(tensor: Tensor, lead: list[sizes.Size]) -> Tensor:
    return relax.permute_dims(_four(tensor, lead), axes=[0, 2, 1, 3])


def _four(tensor: Tensor, lead: list[sizes.Size]) -> Tensor:
    """Reshape to [batch, heads, length, size], from any number of leading dimensions."""
    if len(lead) == 2:
        return tensor
    if len(lead) < 2:
        return relax.expand_dims(tensor, axis=list(range(2 - len(lead))))
    return sizes.reshaped(tensor, [sizes.product(lead[:-1]), lead[-1], *sizes.sizes_of(Value(ssa=tensor))[-2:]])


def _bias(node: TorchNode, query: Tensor, key: Tensor) -> Tensor | None:
    """Return the mask as a summand of the scores: [1 or batch, 1 or heads, 1 or queries, keys]."""
    name = "attn_mask" if "attn_mask" in node.arguments else "attn_bias"
    if not node.has(name):
        return None
    mask, dtype = node.tensor(name), info_of(query).dtype
    keys = sizes.size_of(key, -2)
    if sizes.size_of(mask, -1) != keys:
        mask = sizes.broadcast(mask, [*sizes.sizes_of(Value(ssa=mask))[:-1], keys])
    if info_of(mask).dtype == "i1":
        mask = relax.where(mask, const(0, dtype), const(-math.inf, dtype))
    rank, lead = mask.type.rank, sizes.sizes_of(Value(ssa=query))[:-2]
    if rank == 1:
        mask, rank = relax.expand_dims(mask, axis=[0]), 2
    if rank > 4:
        mask = sizes.broadcast(mask, [*lead, *sizes.sizes_of(Value(ssa=mask))[-2:]])
    return _four(cast(mask, dtype), sizes.sizes_of(Value(ssa=mask))[:-2])


def _scores(node: TorchNode) -> Tensor:
    """Return the argument of the softmax, in at least f32."""
    query, key, _ = _operands(node)
    wide = "f64" if info_of(query).dtype == "f64" else "f32"
    rank = query.type.rank
    heads, shared = sizes.size_of(query, -3), sizes.size_of(key, -3)
    if heads != shared:
        key = relax.repeat(key, heads // shared, axis=rank - 3)
    transposed = relax.permute_dims(cast(key, wide), axes=[*range(rank - 2), rank - 1, rank - 2])
    scale = node.float("scale", None) or 1 / math.sqrt(sizes.size_of(query, -1))
    scores = relax.multiply(relax.matmul(cast(query, wide), transposed), const(scale, wide))
    if (bias := _bias(node, query, key)) is not None:
        scores = relax.add(scores, cast(bias, wide))
    if node.bool("is_causal"):
        rows, columns = (sizes.count_up(sizes.size_of(each, -2)) for each in (query, key))
        is_seen = relax.less_equal(columns, relax.expand_dims(rows, axis=[1]))
        scores = relax.where(is_seen, scores, const(-math.inf, wide))
    return scores


def _log_of_sums(node: TorchNode) -> Tensor:
    scores = _scores(node)
    most = relax.max(scores, axis=[-1], keepdims=True)
    sums = relax.sum(relax.exp(relax.subtract(scores, most)), axis=[-1])
    expected = node.results[1]
    return cast(relax.add(relax.log(sums), relax.squeeze(most, axis=[-1])), expected.dtype if expected else "f32")
