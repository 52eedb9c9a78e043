# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compositions for layers of torch.nn that eager mode runs as one operator.

torch has no decomposition of these operators. `torch.nn.TransformerEncoderLayer` calls one in inference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

#: Kinds of masks: by query and key; by batch and key; by batch, head, query and key.
_BY_QUERY, _BY_KEY, _BY_ALL = range(3)


def decompositions() -> dict[Any, Callable[..., object]]:
    """Return the compositions by their operators."""
    import torch

    aten = torch.ops.aten
    return {
        aten._transformer_encoder_layer_fwd.default: encoder_layer,
        aten._native_multi_head_attention.default: multi_head_attention,
    }


def encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """Compute a layer of a transformer's encoder. Arguments have the names of the operator's schema."""
    from torch.nn import functional

    activation = functional.gelu if use_gelu else functional.relu
    norms = [
        partial(functional.layer_norm, normalized_shape=(embed_dim,), weight=weight, bias=bias, eps=eps)
        for weight, bias in ((norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2))
    ]

    def attend(x: Tensor) -> Tensor:
        weights = embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias
        return multi_head_attention(x, x, x, *weights, mask, False, True, mask_type)[0]

    def feed_forward(x: Tensor) -> Tensor:
        return functional.linear(activation(functional.linear(x, ffn_weight_1, ffn_bias_1)), ffn_weight_2, ffn_bias_2)

    x = src
    for step, norm in zip((attend, feed_forward), norms, strict=True):
        x = x + step(norm(x)) if norm_first else norm(x + step(x))
    return x


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute attention of several heads with its projections. A True in the mask hides a key."""
    from torch.nn import functional

    import torch

    def project(x: Tensor, part: int) -> Tensor:
        rows = slice(part * embed_dim, (part + 1) * embed_dim)
        return functional.linear(x, qkv_weight[rows], qkv_bias[rows])

    if query is key and key is value:
        parts = functional.linear(query, qkv_weight, qkv_bias).chunk(3, -1)
    else:
        parts = tuple(project(x, part) for part, x in enumerate((query, key, value)))
    q, k, v = (part.unflatten(-1, (num_head, embed_dim // num_head)).transpose(1, 2) for part in parts)
    if mask is None and not need_weights:
        heads, weights = functional.scaled_dot_product_attention(q, k, v), query.new_empty(0)
    else:
        scores = q @ k.transpose(-2, -1) * (embed_dim // num_head) ** -0.5
        if mask is not None:
            scores = scores.masked_fill(_expand_mask(mask, mask_type), float("-inf"))
        weights = torch.softmax(scores, -1)
        heads = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    out = functional.linear(heads.transpose(1, 2).flatten(2), proj_weight, proj_bias)
    return out, weights if need_weights else query.new_empty(0)


def _expand_mask(mask: Tensor, mask_type: int | None) -> Tensor:
    hidden = mask.bool()
    if mask_type == _BY_KEY:
        return hidden[:, None, None, :]
    return hidden if mask_type == _BY_ALL else hidden[None, None]
