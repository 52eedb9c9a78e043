# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans along a dimension, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("dynamic", [False, True])
def test_sums_and_products(dynamic: bool) -> None:
    check(
        lambda x, n, b: (x.cumsum(1), x.cumprod(-1), n.cumsum(0), b.cumsum(0), b.cumprod(1)),
        torch.randn(3, 4),
        torch.randint(-9, 9, (3, 4), dtype=torch.int32),
        torch.randn(4, 2) > 0,
        dynamic=dynamic,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool])
def test_extremes(dtype: torch.dtype) -> None:
    """Return the position of the last of equal elements."""
    x = torch.tensor([[[3, 1], [3, 200]], [[5, 1], [0, 1]], [[5, 1], [0, 201]]]).to(dtype)
    check(lambda x: (x.cummax(0), x.cummin(1), x.cummax(-1)), x)


def test_extremes_where_nan_wins() -> None:
    x = torch.tensor([[1.0, NAN, 3.0, NAN, 9.0], [-INF, -INF, 2.0, 2.0, INF]])
    check(lambda x: (x.cummax(1), x.cummin(1)), x, dynamic=True)


def test_sums_of_exponentials() -> None:
    x = torch.tensor([[-INF, -INF, 1.0, 2.0], [1000.0, 3.0, 999.0, 1001.0], [1.0, INF, 2.0, NAN], [-1000.0, 0, 5, 1]])
    check(lambda x: (x.logcumsumexp(1), x.half().logcumsumexp(0)), x, dynamic=True)


def test_differences_and_areas() -> None:
    check(lambda y, x: (torch.diff(y, n=2), torch.trapezoid(y, x), torch.cumulative_trapezoid(y)),
          torch.randn(3, 5), torch.randn(5))  # fmt: skip


def test_of_one_number() -> None:
    check(lambda x: (x.cumsum(0), x.cummax(0), x.logcumsumexp(0)), torch.tensor(2.5))
