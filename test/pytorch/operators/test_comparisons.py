# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparisons, limits and predicates of numbers, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check

INF, NAN = float("inf"), float("nan")
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.5, INF, -INF, NAN, -NAN])


def test_comparisons_of_types() -> None:
    n, x = torch.tensor([[1], [2], [3]]), torch.tensor([1.5, 2.0, NAN])
    check(lambda n, x: (n < x, n >= x, x != n, n == 2, x > 1.75, torch.logical_xor(n - 2, x)), n, x, dynamic=True)


def test_the_larger_and_the_smaller_where_nan_is() -> None:
    x, y = SPECIAL[:, None], SPECIAL[None]
    check(lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y)), x, y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_limits(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 5, 9, 3]).to(dtype)
    check(
        lambda x, low: (x.clamp(2, 6), x.clamp(max=4), x.clamp(low, low + 1), x.clamp(7, 3)), x, x.flip(0), dynamic=True
    )


def test_questions() -> None:
    check(
        lambda x, n: (
            x.isnan(),
            x.isposinf(),
            x.isneginf(),
            x.signbit(),
            x.isfinite(),
            n.isposinf(),
            n.signbit(),
            n.isfinite(),
        ),
        SPECIAL,
        torch.tensor([-1, 0, 1]),
    )


def test_closeness() -> None:
    x, y = SPECIAL[:, None], SPECIAL[None]
    check(lambda x, y: (torch.isclose(x, y), torch.isclose(x, y + 1e-6, equal_nan=True)), x, y)
    n = torch.tensor([1, 100000, 2**40])
    check(lambda n: (torch.isclose(n, n + 1), torch.isclose(n, n, rtol=0, atol=0)), n)


def test_choices() -> None:
    mask, x = torch.tensor([[True], [False]]), torch.randn(2, 3)
    check(lambda m, x: (torch.where(m, x, 0), torch.where(m, 1, x), x.masked_fill(m, -INF)), mask, x, dynamic=True)
