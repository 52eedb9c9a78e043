# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped-query attention: fewer key heads than query heads, by torch.compile for inference and training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import native_libraries
import pytest
import torch
from imported import check
from relax_mlir_torch.compile.torch_compile import torch_backend
from torch.nn import functional

_TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 3e-2}
_DTYPES = list(_TOLERANCES)
Tensors = tuple[torch.Tensor, ...]


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> Tensors:
    """Compute attention without a mask, with the causal mask and with a separate mask."""
    return tuple(
        functional.scaled_dot_product_attention(query, key, value, enable_gqa=True, **options)
        for options in ({}, {"is_causal": True}, {"attn_mask": mask})
    )


def operands(dtype: torch.dtype, batch: int = 2, length: int = 6) -> list[torch.Tensor]:
    sizes = ((batch, 4, 6, 8), (batch, 2, length, 8), (batch, 2, length, 8))
    mask = torch.rand(6, length) > 0.4
    mask[:, 0] = True
    return [*(torch.randn(size, dtype=dtype) for size in sizes), mask]


def gradients(function: Callable[..., Tensors], tensors: list[torch.Tensor]) -> Tensors:
    """Return the results of a function and the gradients of its first three arguments."""
    leaves = [each.clone().requires_grad_() for each in tensors[:3]]
    results = function(*leaves, *tensors[3:])
    total = sum((each.float() * (place + 1)).square().sum() for place, each in enumerate(results))
    return (*(each.detach() for each in results), *torch.autograd.grad(total, leaves))


def assert_close(found: Tensors, wanted: Tensors) -> None:
    """Compare tensors relative to the largest element, as bf16's gradients are sums of rounded numbers."""
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        scale = max(1.0, float(other.abs().max()))
        bound = _TOLERANCES[other.dtype] * scale
        torch.testing.assert_close(one, other, rtol=0, atol=bound, check_stride=False)


@pytest.mark.parametrize("dtype", _DTYPES)
def test_inference(dtype: torch.dtype) -> None:
    given = operands(dtype, length=7)
    with torch.no_grad():
        assert_close(torch.compile(attend, backend=torch_backend)(*given), attend(*given))


@pytest.mark.parametrize("dtype", _DTYPES)
def test_training(dtype: torch.dtype) -> None:
    given = operands(dtype)
    assert_close(gradients(torch.compile(attend, backend=torch_backend), given), gradients(attend, given))


def test_batches_of_any_size() -> None:
    """Compile the second call with a dynamic batch and length. Heads and their size stay fixed."""

    def attend_plainly(*given: torch.Tensor) -> Tensors:
        return (functional.scaled_dot_product_attention(*given, enable_gqa=True),)

    compiled = torch.compile(attend_plainly, backend=torch_backend)
    for batch, length in ((2, 6), (3, 9), (4, 7)):
        given = operands(torch.float32, batch, length)[:3]
        with torch.no_grad():
            assert_close(compiled(*given), attend_plainly(*given))


def test_logarithms_of_sums() -> None:
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    check(lambda q, k, v: fused(q, k, v, 0.0, True), *operands(torch.float32)[:3])


@pytest.mark.parametrize("dtype", _DTYPES)
def test_llama(dtype: torch.dtype) -> None:
    native_libraries.declare()
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=32, use_cache=False,
    )  # fmt: skip
    model, words = LlamaForCausalLM(config).to(dtype), torch.randint(0, 64, (2, 9))

    def step(called: Any) -> Tensors:
        model.zero_grad()
        loss = called(input_ids=words, labels=words).loss
        loss.backward()
        return (loss.detach(), *(each.grad for each in model.parameters() if each.grad is not None))

    compiled = torch.compile(model, backend=torch_backend)
    with torch.no_grad():
        assert_close((compiled(input_ids=words).logits,), (model(input_ids=words).logits,))
    assert_close(step(compiled), step(model))
