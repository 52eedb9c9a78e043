# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools over windows and over parts, and the inverse of taking maxima, compared with torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from imported import check

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("dynamic", [False, True])
def test_places_of_maxima(dynamic: bool) -> None:
    """The last NaN of a window wins, and of windows of the lowest value the first place that is no padding."""
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


def test_inverse() -> None:
    def both(x: torch.Tensor) -> torch.Tensor:
        values, places = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(values, places, 2)

    check(both, torch.randn(2, 3, 6, 8))


@pytest.mark.parametrize("dynamic", [False, True])
def test_random_windows(dynamic: bool) -> None:
    """Of random numbers that are given."""
    torch.manual_seed(0)
    image, volume = torch.randn(2, 3, 9, 12), torch.randn(2, 2, 6, 7, 9)
    image[0, 0, 2:4] = torch.nan

    def planes(x: torch.Tensor, drawn: torch.Tensor) -> object:
        return F.fractional_max_pool2d(x, (2, 3), (4, 5), return_indices=True, _random_samples=drawn)

    def volumes(x: torch.Tensor, drawn: torch.Tensor) -> object:
        return F.fractional_max_pool3d(x, 2, (3, 1, 4), return_indices=True, _random_samples=drawn)

    check(planes, image, torch.rand(2, 3, 2), dynamic=dynamic)
    check(volumes, volume, torch.rand(2, 2, 3), dynamic=dynamic)
    check(planes, image[1], torch.rand(1, 3, 2), dynamic=dynamic)
