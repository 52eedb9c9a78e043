# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, compared with torch: types, NaN, dimensions that are kept, sizes that are symbols."""

from __future__ import annotations

import pytest
import torch
from imported import check

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("dynamic", [False, True])
def test_sums(dynamic: bool) -> None:
    """Sum booleans and narrow integers in 64 bits."""
    check(
        lambda x, n, b: (x.sum(), x.sum((0, -1), keepdim=True), n.sum(1), b.sum(0), b.sum(dtype=torch.float64)),
        torch.randn(3, 4, 5),
        torch.randint(-9, 9, (3, 4), dtype=torch.int8),
        torch.randn(4, 2) > 0,
        dynamic=dynamic,
    )  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
def test_moments(dynamic: bool) -> None:
    """Compute moments with each correction, in f32 for narrow floats."""
    check(
        lambda x, h: (
            x.mean(1), x.var(), x.var(1, unbiased=False), torch.var_mean(x, (0, 2), correction=2),
            h.std(-1, keepdim=True), torch.std_mean(h),
        ),
        torch.randn(3, 4, 5),
        torch.randn(2, 6).half(),
        dynamic=dynamic,
    )  # fmt: skip


def test_variance_of_too_few() -> None:
    check(lambda x: (x.var(0), x.var(0, correction=3), x.var(1, correction=4)), torch.randn(1, 3))


def test_extremes_where_nan_wins() -> None:
    x = torch.tensor([[1.0, NAN, 3.0, NAN], [2.0, 7.0, 7.0, -INF], [-INF, -INF, -INF, -INF]])
    check(
        lambda x: (
            x.amax(1), x.amin(), x.max(1), x.min(0), x.argmax(1), x.argmin(1, keepdim=True), x.argmax(),
            torch.aminmax(x, dim=0), x.max(),
        ),
        x,
    )  # fmt: skip


def test_truth() -> None:
    """Return a byte for bytes."""
    check(
        lambda x, b, u: (x.any(), x.all(1), b.any(0, keepdim=True), u.all(0), x.count_nonzero(1), b.amax(0), b.amin()),
        torch.tensor([[0.0, NAN], [0.0, 0.0]]),
        torch.tensor([[True, False], [False, False]]),
        torch.tensor([[3, 0], [1, 1]], dtype=torch.uint8),
    )


def test_logarithms_and_nan() -> None:
    x = torch.tensor([[1000.0, 1000.5, -INF], [-INF, -INF, -INF], [INF, 1.0, 2.0], [NAN, 1.0, 0.0]])
    check(lambda x: (x.logsumexp(1), x.logsumexp((0, 1), keepdim=True), x.nansum(1), x.nanmean(0)), x)


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 3, INF, -INF])
def test_norms(order: float) -> None:
    check(lambda x: torch.linalg.vector_norm(x, order, dim=(0, 2), keepdim=True), torch.randn(3, 4, 5))


def test_of_one_number() -> None:
    check(lambda x: (x.sum(0), x.var(correction=0), x.max(0), x.argmin(-1), x.logsumexp(0)), torch.tensor(2.5))
