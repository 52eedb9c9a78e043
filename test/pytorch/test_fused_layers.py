# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that eager mode runs as one operator: compiled as their parts, without eager mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from relax_mlir_torch.compile.torch_compile import torch_backend
from torch import nn

_BOTH = {"fallback": "error"}


def _agree(model: nn.Module, *arguments: Any, **named: Any) -> None:
    torch._dynamo.reset()
    with torch.no_grad():
        expected = model(*arguments, **named)
        found = torch.compile(model, backend=torch_backend, options=_BOTH)(*arguments, **named)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mask", ["none", "by query", "by key", "both"])
def test_encoder_layers(norm_first: bool, activation: str, mask: str) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=norm_first, activation=activation).eval()
    masks = {}
    if mask in ("by query", "both"):
        masks["src_mask"] = nn.Transformer.generate_square_subsequent_mask(5)
    if mask in ("by key", "both"):
        masks["src_key_padding_mask"] = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    _agree(layer, torch.randn(2, 5, 16), **masks)


def test_encoders_of_several_layers() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    _agree(encoder, torch.randn(2, 5, 16))


@pytest.mark.parametrize("averages", [False, True])
@pytest.mark.parametrize("is_self_attention", [False, True])
def test_attention_of_several_heads(is_self_attention: bool, averages: bool) -> None:
    query, other = torch.randn(2, 5, 16), torch.randn(2, 5, 16)
    given = query if is_self_attention else other
    weights = torch.randn(48, 16), torch.randn(48), torch.randn(16, 16), torch.randn(16)
    mask = torch.rand(5, 5) > 0.6

    class Attention(nn.Module):
        def forward(self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor) -> Any:
            attend = torch.ops.aten._native_multi_head_attention
            return attend(query, key, key, 16, 2, *weights, mask, True, averages, 0)

    mask[:, 0], mask[1] = False, True  # row 1 sees no key
    _agree(Attention(), query, given, mask)
