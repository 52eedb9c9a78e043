# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers for which eager mode raises: compiled programs raise the same error, and no result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import relax_mlir as rx

_ONES, _NAN = torch.ones(3, 4), torch.full((3, 3), torch.nan)


def _division(function: Callable[[Any, Any], Any], dtype: torch.dtype) -> tuple[Callable[..., Any], Any, Any]:
    right = torch.tensor([1, 2, 3], dtype=dtype)
    return function, (right, right), (right, torch.tensor([1, 0, 3], dtype=dtype))


def _weights(wrong: float, replacement: bool) -> tuple[Callable[..., Any], Any, Any]:
    weights = _ONES.clone()
    weights[1, 2] = wrong
    return (lambda x: torch.multinomial(x, 2, replacement=replacement) < 4), (_ONES,), (weights,)


CASES = {
    "floor_divide": _division(lambda a, b: a // b, torch.int32),
    "remainder": _division(lambda a, b: a % b, torch.int64),
    "remainder of bytes": _division(torch.remainder, torch.uint8),
    "fmod": _division(torch.fmod, torch.int16),
    "truncated": _division(lambda a, b: torch.div(a, b, rounding_mode="trunc"), torch.int8),
    "negative weights": _weights(-1.0, replacement=True),
    "infinite weights": _weights(torch.inf, replacement=True),
    "weights of NaN": _weights(torch.nan, replacement=False),
    "weights of 0": (lambda x: torch.multinomial(x, 1) < 4, (_ONES,), (_ONES * torch.tensor([[0.0], [1], [1]]),)),
    "svd": (torch.linalg.svdvals, (torch.eye(3),), (_NAN,)),
    "svd with vectors": (lambda x: torch.linalg.svd(x)[1], (torch.eye(3),), (_NAN,)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_that_of_eager_mode(name: str) -> None:
    function, right, wrong = CASES[name]
    compiled = torch.compile(function, backend="relax_mlir", options={"fallback": "error"})
    assert torch.equal(torch.as_tensor(compiled(*right)), torch.as_tensor(function(*right)))
    with pytest.raises(RuntimeError) as eager:
        function(*wrong)
    with pytest.raises(RuntimeError) as ours:
        compiled(*wrong)
    # Eager mode has several sentences for wrong weights. Ours begin with the place.
    text = "probabilit" if "weights" in name else str(eager.value).splitlines()[0]
    assert text in str(eager.value) and text in str(ours.value).splitlines()[0]


def test_a_known_divisor_is_not_checked() -> None:
    """A condition is checked at run time, which has a cost, so it is left out where the divisor is known."""

    class Halves(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x // 2 + x % torch.tensor(3)

    text = str(rx.from_torch(torch.export.export(Halves(), (torch.arange(4),))))
    assert "floor_divide" in text and "assert_op" not in text


def test_sizes_as_divisors_are_not_checked() -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
            return places // x.shape[0]

    dynamic = ({0: torch.export.Dim("n", min=2)}, {})
    program = torch.export.export(Rows(), (torch.ones(3), torch.arange(4)), dynamic_shapes=dynamic)
    module = rx.from_torch(program)
    assert "assert_op" not in str(module)
    found = rx.compile(module)["main"](torch.ones(2), torch.arange(4))
    assert found.tolist() == [0, 0, 1, 1]


def test_real_numbers_are_divided_by_0() -> None:
    compiled = torch.compile(lambda a, b: (a // b, a % b), backend="relax_mlir")
    for found in compiled(torch.ones(2), torch.zeros(2)):
        assert not torch.isfinite(found).any()
