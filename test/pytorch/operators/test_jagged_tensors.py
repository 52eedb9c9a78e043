# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jagged nested tensors in torch.compile, with gradients, and the conversions to padded tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from relax_mlir.support.errors import ModelError

_LENGTHS = [(3, 5), (1, 4, 2), (0, 3), (2, 0, 0, 1)]
_OFFSETS, _ROWS = torch.tensor([0, 3, 8]), torch.arange(1.0, 9)[:, None]
_pad, _unpad = torch.ops.aten._jagged_to_padded_dense_forward, torch.ops.aten._padded_dense_to_jagged_forward
_PADDED = _pad(_ROWS, [_OFFSETS], [7], -1.0)


def _attention(x: torch.Tensor) -> torch.Tensor:
    heads = x.unflatten(-1, (2, 4)).transpose(1, 2)
    made = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
    return made.transpose(1, 2).flatten(-2)


_LAYERS: dict[str, Callable[..., Any]] = {
    "linear": torch.nn.Linear(8, 4),
    "gelu": torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.GELU()),
    "norm": torch.nn.LayerNorm(8),
    "padded": lambda x: torch.nested.to_padded_tensor(x, 0.5).sin(),
    "padded heads": lambda x: torch.nested.to_padded_tensor(x.unflatten(-1, (2, 4)), 0.5).sin(),
    "softmax of sequences": lambda x: x.softmax(1),
    "attention": _attention,
    "offsets": lambda x: torch.nested.nested_tensor_from_jagged(x.values().sin(), x.offsets()),
}


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _step(function: Callable[..., Any], lengths: tuple[int, ...]) -> list[torch.Tensor]:
    """Return the result, and the gradients of the argument and of the parameters."""
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randn(length, 8, generator=generator) for length in lengths]
    x = torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True)
    parameters = list(function.parameters()) if isinstance(function, torch.nn.Module) else []
    result = function(x)
    dense = result.values() if result.is_nested else result
    return [dense, *(each.values() if each.is_nested else each
                     for each in torch.autograd.grad(dense.square().sum(), [x, *parameters]))]  # fmt: skip


@pytest.mark.parametrize("name", _LAYERS)
def test_values_and_gradients_equal_eager_mode(name: str) -> None:
    """Run one compiled function for several lengths, some of them 0."""
    compiled = torch.compile(_LAYERS[name], backend="relax_mlir", options={"fallback": "error"})
    for lengths in _LENGTHS:
        torch.testing.assert_close(_step(compiled, lengths), _step(_LAYERS[name], lengths))


def test_products_of_a_jagged_size() -> None:
    """Compute with a size that has no value in eager mode, or refuse the node by its name."""
    x = torch.nested.nested_tensor([torch.ones(3, 8), torch.ones(5, 8)], layout=torch.jagged)

    def doubled(x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return x * 2, x.size(1) * 2

    with pytest.warns(UserWarning, match="1 of 2 nodes run in eager mode"):
        _, size = torch.compile(doubled, backend="relax_mlir")(x)
    assert size == x.size(1) * 2
    torch._dynamo.reset()
    with pytest.raises(ModelError, match="'0' a jagged size"):
        torch.compile(doubled, backend="relax_mlir", options={"fallback": "error"})(x)


def _compiled(operator: Any, *arguments: Any) -> torch.Tensor:
    def call(*given: Any) -> torch.Tensor:
        return operator(*given)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return torch.compile(call, backend="relax_mlir")(*arguments)


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        (_pad, (_ROWS, [_OFFSETS], [2], -1.0)),
        (_pad, (_ROWS, [_OFFSETS], [0])),
        (_pad, (_ROWS, [_OFFSETS + torch.tensor([1, 0, 0])], [4])),
        (_pad, (_ROWS[:, 0], [_OFFSETS.int()], [7], 0.5)),
        (_pad, (_ROWS.bfloat16(), [_OFFSETS], [7], 0.3)),
        (_pad, (_ROWS.long(), [_OFFSETS], [7], 0.5)),
        (_pad, (_ROWS > 3, [_OFFSETS], [7], 0.5)),
        (_pad, (_ROWS, [_OFFSETS[:1]], [7])),
        (_unpad, (_PADDED, [_OFFSETS], 8)),
        (_unpad, (_PADDED, [_OFFSETS])),
        (_unpad, (_PADDED[..., 0].half(), [_OFFSETS], 8)),
        (_unpad, (_PADDED[:0], [_OFFSETS[:1]], 0)),
        (_unpad, (_PADDED[:, :0], [_OFFSETS * 0], 0)),
    ],
)
def test_conversions(operator: Any, arguments: tuple[Any, ...]) -> None:
    torch.testing.assert_close(_compiled(operator, *arguments), operator(*arguments))


@pytest.mark.parametrize(
    ("operator", "arguments", "message"),
    [
        (_pad, (_ROWS, [torch.tensor([0, 3, 9])], [7]), "exceed its number of rows"),
        (_pad, (_ROWS, [torch.tensor([-1, 3, 8])], [7]), "must not be negative"),
        (_pad, (_ROWS, [torch.tensor([0, 5, 3])], [7]), "must not decrease"),
        (_unpad, (_PADDED, [_OFFSETS], 10), "final offset should match total_L"),
        (_unpad, (_PADDED[:, :4], [_OFFSETS], 8), "a sequence is longer than the padded tensor"),
    ],
)
def test_wrong_offsets(operator: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(RuntimeError):
        operator(*arguments)
    with pytest.raises(RuntimeError, match=message):
        _compiled(operator, *arguments)
