# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resizing, compared with torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from imported import check

X = torch.randn(2, 3, 7, 9)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("size", [(14, 27), (5, 20), (123, 61)])
def test_nearest(mode: str, size: tuple[int, int]) -> None:
    """Find the nearest element in f32 like torch: for 41 resized to 123 the result differs from integer arithmetic."""
    check(lambda x: F.interpolate(x, size, mode=mode), torch.arange(41.0 * 9).reshape(1, 1, 41, 9))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_scales(mode: str, dynamic: bool) -> None:
    check(lambda x: F.interpolate(x, scale_factor=2.0, mode=mode), X, dynamic=dynamic)
    check(lambda x: F.interpolate(x, scale_factor=(0.6, 1.7), mode=mode), X)
    check(lambda x: F.interpolate(x, scale_factor=1.3, mode=mode, recompute_scale_factor=True), X)


@pytest.mark.parametrize("aligned", [False, True])
def test_interpolation(aligned: bool) -> None:
    check(lambda x: F.interpolate(x, (4, 15), mode="bilinear", align_corners=aligned), X, dynamic=True)
    check(lambda x: F.interpolate(x, (1, 15), mode="bicubic", align_corners=aligned), X)
    check(lambda x: F.interpolate(x[0], 13, mode="linear", align_corners=aligned), X)
    check(lambda x: F.interpolate(x[None], (3, 9, 11), mode="trilinear", align_corners=aligned), X)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiasing(mode: str, aligned: bool) -> None:
    check(lambda x: F.interpolate(x, (3, 14), mode=mode, align_corners=aligned, antialias=True), X)


def test_bytes() -> None:
    """Round ties of interpolated bytes up after each dimension: torch's weights are exact for this scale."""
    check(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), torch.randint(0, 255, (1, 3, 8, 8)).byte())
    check(lambda x: F.interpolate(x, (14, 5)), torch.randint(0, 255, (1, 3, 7, 9), dtype=torch.uint8))


def test_areas() -> None:
    check(lambda x: F.interpolate(x, (3, 4), mode="area"), X)
