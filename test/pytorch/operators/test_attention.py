# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in all of torch's forms, compared with torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from imported import check

INF = float("inf")


def _operands(heads: int = 4) -> list[torch.Tensor]:
    return [torch.randn(2, 4, 5, 8), torch.randn(2, heads, 7, 8), torch.randn(2, heads, 7, 6)]


@pytest.mark.parametrize("dynamic", [False, True])
def test_plain_causal_and_scaled(dynamic: bool) -> None:
    attention = F.scaled_dot_product_attention
    check(lambda q, k, v: (attention(q, k, v), attention(q, k, v, is_causal=True), attention(q, k, v, scale=0.3)),
          *_operands(), dynamic=dynamic)  # fmt: skip


def test_heads_that_are_shared() -> None:
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), *_operands(2), dynamic=True)


def test_queries_that_see_nothing() -> None:
    """Return zeros for queries that see no key."""
    mask = torch.rand(5, 7) > 0.4
    mask[1] = False
    added = torch.zeros(5, 7).masked_fill(~mask, -INF)
    for each in (mask, added):
        check(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), *_operands(), each)


def test_masks_of_batches() -> None:
    mask = torch.rand(2, 1, 1, 7) > 0.3
    mask[..., 0] = True
    check(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), *_operands(), mask, dynamic=True)


@pytest.mark.slow
def test_other_numbers_of_dimensions() -> None:
    attention = F.scaled_dot_product_attention
    check(lambda q, k, v: (attention(q, k, v), attention(q[0], k[0], v[0]), attention(q[0, 0], k[0, 0], v[0, 0])),
          *(torch.randn(2, 3, 4, 5, 8) for _ in range(3)))  # fmt: skip
    check(attention, torch.randn(2, 4, 5, 8), torch.randn(1, 4, 7, 8), torch.randn(1, 4, 7, 8))


@pytest.mark.slow
def test_fused_forms() -> None:
    """Return the logarithms of the sums, too."""
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    q, k, v = (torch.randn(2, 4, 6, 8) for _ in range(3))
    check(lambda q, k, v: fused(q, k, v, 0.0, True), q, k, v)
    check(lambda q, k, v, m: fused(q, k, v, attn_mask=m, scale=0.5), q, k, v, torch.randn(6, 6))
    whole = torch.ops.aten._scaled_dot_product_attention_math
    check(lambda q, k, v, m: whole(q, k, v, m), q, k, v, torch.randn(6, 6))


@pytest.mark.slow
@pytest.mark.parametrize("norm_first", [False, True])
def test_layers(norm_first: bool) -> None:
    """Decompose torch's operator for a whole layer in inference."""
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=norm_first)
    layer.eval().requires_grad_(False)
    check(lambda x: layer(x), torch.randn(2, 5, 16))


@pytest.mark.slow
def test_several_heads_with_weights() -> None:
    module = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval().requires_grad_(False)
    check(lambda x, y: module(x, y, y), torch.randn(2, 5, 16), torch.randn(2, 7, 16), dynamic=True)
