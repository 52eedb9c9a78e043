# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sampling at the positions of a grid, blocks as columns and back, compared with torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from imported import check

GRID = torch.rand(2, 4, 5, 2) * 2.6 - 1.3


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_sampling(mode: str, padding: str) -> None:
    check(lambda x, grid: (F.grid_sample(x, grid, mode, padding, False), F.grid_sample(x, grid, mode, padding, True)),
          torch.randn(2, 3, 6, 7), GRID, dynamic=True)  # fmt: skip


def test_sampling_of_volumes() -> None:
    check(lambda x, grid: F.grid_sample(x, grid, align_corners=False), torch.randn(2, 3, 4, 5, 6),
          torch.rand(2, 3, 3, 4, 3) * 2 - 1)  # fmt: skip


@pytest.mark.parametrize("aligned", [False, True])
def test_grids(aligned: bool) -> None:
    check(lambda theta: F.affine_grid(theta, [2, 3, 4, 5], aligned), torch.randn(2, 2, 3))


@pytest.mark.parametrize("dynamic", [False, True])
def test_blocks(dynamic: bool) -> None:
    check(lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 1)), torch.randn(2, 3, 7, 8),
          dynamic=dynamic)  # fmt: skip


def test_blocks_without_a_batch() -> None:
    check(lambda x: F.unfold(x, 2), torch.randn(3, 5, 6))
    check(lambda x: F.fold(x, (5, 6), 2), torch.randn(3 * 4, 20))


def test_blocks_added_up() -> None:
    """Leave zeros in rows that no block reaches."""
    check(lambda x: F.fold(x, (8, 9), (3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 2)), torch.randn(2, 18, 25))


def test_blocks_of_images_of_any_size() -> None:
    check(
        lambda x: F.fold(F.unfold(x, 3, padding=1), x.shape[-2:], 3, padding=1), torch.randn(2, 3, 6, 7), dynamic=True
    )
