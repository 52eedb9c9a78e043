# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with functions of scores and of masks, beside torch's own definition."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from imported import check
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._higher_order_ops.flex_attention import create_fw_bw_graph
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils.checkpoint import checkpoint

_SLOPES = torch.tensor([0.5, 0.25, 0.125, 1.0])


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + shape[-1]))


def _of(heads: int = 4, batches: int = 2) -> list[torch.Tensor]:
    """Return queries, keys and values."""
    return [_numbers(2, 4, 12, 8), _numbers(batches, heads, 16, 8), _numbers(batches, heads, 16, 4)]


def capped(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
    return torch.tanh(score / 2) * 2 - _SLOPES[head] * (query - key).abs()


def sloped(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
    return torch.where(key - query < 5 + batch, score + _SLOPES[head] * (key - query), -float("inf"))


def causal(batch: Any, head: Any, query: Any, key: Any) -> Any:
    return query >= key


def windowed(batch: Any, head: Any, query: Any, key: Any) -> Any:
    """Leave queries that see no key in the mask."""
    return (query - key).abs() < torch.where(query < 10, 3 + head, 0)


@pytest.mark.parametrize("score", [None, capped, sloped])
@pytest.mark.parametrize("mask", [None, causal, windowed])
def test_functions_of_scores_and_masks(score: Any, mask: Any) -> None:
    block = None if mask is None else create_block_mask(mask, 2, 4, 12, 16, device="cpu")
    check(partial(flex_attention, score_mod=score, block_mask=block), *_of())


def test_heads_and_batches_that_are_shared() -> None:
    check(partial(flex_attention, score_mod=sloped, enable_gqa=True), *_of(heads=2))
    block = create_block_mask(causal, 2, None, 12, 16, device="cpu")
    check(partial(flex_attention, block_mask=block, enable_gqa=True), *_of(heads=2, batches=1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_element_types(dtype: torch.dtype) -> None:
    check(partial(flex_attention, score_mod=sloped, scale=0.3), *(each.to(dtype) for each in _of()))


def test_logarithms_of_sums() -> None:
    check(partial(flex_attention, score_mod=capped, return_lse=True), *_of())


def test_dynamic_sizes() -> None:
    others = [[_numbers(3, 4, size, 8) for size in (5, 9, 9)]]
    check(partial(flex_attention, score_mod=sloped), *(_numbers(2, 4, size, 8) for size in (12, 16, 16)),
          dynamic=True, others=others)  # fmt: skip


_BLOCK = create_block_mask(causal, 2, 4, 12, 16, device="cpu")
_CAPPED = partial(flex_attention, score_mod=capped)
#: torch refuses flex_attention with gradients on CPUs.
_COMPILED: dict[str, Any] = {
    "scores": _CAPPED,
    "mask": partial(flex_attention, block_mask=_BLOCK),
    "scores, mask and logarithms": partial(flex_attention, score_mod=capped, block_mask=_BLOCK, return_lse=True),
    "checkpoint": lambda q, k, v: checkpoint(_CAPPED, q.sin(), k, v, use_reentrant=False),
    "region": lambda q, k, v: (
        region := torch.compiler.nested_compile_region(lambda q, k, v: _CAPPED(q, k, v)), region(region(q, k, k), k, v)
    )[1],
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", _COMPILED)
def test_through_torch_compile(name: str, dynamic: bool) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(_COMPILED[name], backend="relax_mlir", dynamic=dynamic, options={"fallback": "error"})
    torch.testing.assert_close(compiled(*_of()), _COMPILED[name](*_of()), rtol=1e-5, atol=1e-5)


def test_steps_back() -> None:
    query, key, value = (_numbers(2, 4, size, 8) for size in (12, 16, 16))
    block = create_block_mask(windowed, 2, 4, 12, 16, device="cpu").as_tuple()
    scalars = (torch.zeros((), requires_grad=True), *[torch.zeros((), dtype=torch.int)] * 4)

    def score(score: Any, batch: Any, head: Any, query: Any, key: Any, slopes: torch.Tensor) -> Any:
        return torch.tanh(score) * slopes[head]

    with TransformGetItemToIndex():
        _, joint = create_fw_bw_graph(score, scalars, (_SLOPES,))

    def back(*tensors: torch.Tensor) -> list[torch.Tensor]:
        *given, slopes = tensors
        own = (score, joint, block, 0.3, {}, (slopes,), ())
        return torch.ops.higher_order.flex_attention_backward(*given, None, *own)[:3]

    out, logarithms, _ = torch.ops.higher_order.flex_attention(query, key, value, score, block, 0.3, {}, (_SLOPES,), ())
    check(back, query, key, value, out, logarithms, _numbers(2, 4, 12, 8), _SLOPES)
