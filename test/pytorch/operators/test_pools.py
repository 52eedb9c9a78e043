# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools over windows and over parts, and the inverse of taking maxima, compared with torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from imported import check, exported

import relax_mlir as rx

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("dynamic", [False, True])
def test_places_of_maxima(dynamic: bool) -> None:
    """Return the last NaN of a window, and the first place outside of the padding for minimal values."""
    x = torch.randn(2, 3, 7, 8)
    x[0, 0, 2, 3] = x[0, 0, 2, 4] = NAN
    x[1] = -INF
    check(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True), x, dynamic=dynamic)
    check(lambda x: F.max_pool1d(x[0], 3, 2, dilation=2, return_indices=True), x, dynamic=dynamic)


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_maxima(ceil_mode: bool) -> None:
    check(lambda x: F.max_pool2d(x, (3, 2), 2, 1, dilation=(2, 1), ceil_mode=ceil_mode), torch.randn(2, 3, 9, 8))
    check(lambda x: F.max_pool3d(x, 2, ceil_mode=ceil_mode), torch.randn(2, 5, 5, 5), dynamic=True)
    check(lambda x: F.max_pool2d(x, 3, ceil_mode=ceil_mode), torch.randint(-9, 9, (1, 2, 8, 7)))


@pytest.mark.parametrize("counts_padding", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_means(ceil_mode: bool, counts_padding: bool) -> None:
    check(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode, counts_padding), torch.randn(2, 3, 8, 9), dynamic=True)
    check(lambda x: F.avg_pool3d(x, 3, 2, 1, ceil_mode, counts_padding), torch.randn(1, 2, 6, 5, 6))


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_means_with_a_divisor_of_their_own(ceil_mode: bool) -> None:
    check(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode, divisor_override=5), torch.randn(2, 3, 8, 9))


def test_norms() -> None:
    check(lambda x: F.lp_pool2d(x, 3, 2, stride=2), torch.rand(2, 3, 8, 9))


@pytest.mark.parametrize("dynamic", [False, True])
def test_means_of_parts(dynamic: bool) -> None:
    x = torch.randn(2, 3, 7, 9)
    check(lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 4))), x, dynamic=dynamic)
    check(lambda x: (F.adaptive_avg_pool2d(x, (None, 4)), F.adaptive_avg_pool1d(x[0], 5)), x, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
def test_maxima_of_parts(dynamic: bool) -> None:
    x = torch.randn(2, 3, 6, 9)
    x[0, 0, 0, 1] = x[0, 0, 1, 1] = x[0, 1, 5, 8] = NAN
    places = lambda size: lambda x: F.adaptive_max_pool2d(x, size, return_indices=True)  # noqa: E731
    check(places((4, 5)), torch.randn(2, 3, 6, 9), dynamic=dynamic)
    check(places((2, 3)), x, dynamic=dynamic)
    check(lambda x: F.adaptive_max_pool1d(x[0], 4), x, dynamic=dynamic)


def test_means_of_a_dynamic_number_of_parts() -> None:
    x = torch.randn(2, 3, 6, 8)
    x[0, 0, 2, 3] = INF
    check(lambda x: F.adaptive_avg_pool2d(x, (x.shape[0] * 2, x.shape[1])), x, dynamic=True, others=[[x[:1, :2]]])


def test_inverse() -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        values, places = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(values, places, 2)

    check(both, torch.randn(2, 3, 6, 8))


@pytest.mark.parametrize("dynamic", [False, True])
def test_windows_at_random_distances(dynamic: bool) -> None:
    """Compute window positions from the drawn numbers."""
    x, numbers = torch.randn(2, 3, 9, 11), torch.rand(2, 3, 2)
    x[0, 0, 3, 2] = x[0, 0, 3, 3] = NAN
    flat, deep = F.fractional_max_pool2d_with_indices, F.fractional_max_pool3d_with_indices
    check(lambda x, r: flat(x, (2, 3), (4, 5), _random_samples=r), x, numbers, dynamic=dynamic)
    check(lambda x, r: flat(x[1], (2, 3), (1, 8), _random_samples=r[1:]), x, numbers)
    x, numbers = torch.randn(2, 3, 5, 6, 7), torch.rand(2, 3, 3)
    check(lambda x, r: deep(x, 2, (2, 3, 5), _random_samples=r), x, numbers, dynamic=dynamic)


def test_windows_are_drawn() -> None:
    x = torch.arange(49.0).reshape(1, 1, 7, 7)
    run = rx.compile(rx.from_torch(exported(lambda x: F.fractional_max_pool2d(x, 2, 3), [x])))["main"]
    found = run(x)
    assert found.shape == (1, 1, 3, 3) and found[0, 0, 2, 2] == 48
    assert any(not torch.equal(run(x), found) for _ in range(50))


@pytest.mark.parametrize("pool", [F.adaptive_avg_pool2d, F.adaptive_max_pool2d])
def test_adaptive_pools_of_integers_are_refused_as_in_eager_mode(pool: Any) -> None:
    x = torch.ones(1, 1, 4, 4, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="not implemented"):
        pool(x, 2)
    with pytest.raises(rx.RelaxError, match="only for floats, got i64"):
        rx.from_torch(exported(lambda x: pool(x, 2), [x]))
