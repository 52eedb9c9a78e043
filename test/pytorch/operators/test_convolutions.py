# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and transposed convolutions, compared with torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from imported import check


@pytest.mark.parametrize("padding", ["same", "valid", 1])
def test_paddings(padding: str | int) -> None:
    """Pad the odd element at the end for an even kernel with "same"."""
    check(lambda x, w, b: F.conv2d(x, w, b, padding=padding, dilation=(1, 2), groups=2),
          torch.randn(2, 4, 7, 8), torch.randn(6, 2, 4, 3), torch.randn(6))  # fmt: skip


def test_one_and_three_dimensions() -> None:
    check(lambda x, w: F.conv1d(x, w, stride=2, padding=1), torch.randn(2, 3, 9), torch.randn(4, 3, 3), dynamic=True)
    check(lambda x, w: F.conv3d(x, w, padding=(1, 0, 1)), torch.randn(1, 2, 4, 5, 4), torch.randn(3, 2, 3, 2, 3))


def test_dynamic_images() -> None:
    module = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1).eval().requires_grad_(False)
    check(lambda x: module(x), torch.randn(2, 3, 9, 10), dynamic=True)


def test_without_a_batch() -> None:
    check(lambda x, w, b: F.conv2d(x, w, b), torch.randn(3, 6, 6), torch.randn(4, 3, 3, 3), torch.randn(4))
    check(lambda x, w: F.conv_transpose1d(x, w, stride=2), torch.randn(3, 6), torch.randn(3, 2, 3))


def test_integers() -> None:
    check(
        lambda x, w: F.conv2d(x, w, padding=1), torch.randint(-9, 9, (1, 2, 5, 5)), torch.randint(-9, 9, (3, 2, 3, 3))
    )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_transposed(count: int) -> None:
    """Output padding may be as large as the dilation allows."""
    function = getattr(F, f"conv_transpose{count}d")
    check(lambda x, w, b: function(x, w, b, stride=2, padding=1, output_padding=2, dilation=3, groups=2),
          torch.randn(2, 4, *[4] * count), torch.randn(4, 3, *[3] * count), torch.randn(6))  # fmt: skip


def test_inner_forms() -> None:
    convolution = torch.ops.aten.convolution
    check(lambda x, w: convolution(x, w, None, [2, 1], [1, 0], [1, 1], False, [0, 0], 1),
          torch.randn(1, 3, 6, 6), torch.randn(4, 3, 3, 3))  # fmt: skip
    check(lambda x, w: convolution(x, w, None, [2], [1], [1], True, [1], 1), torch.randn(1, 3, 6), torch.randn(3, 4, 3))
    check(lambda x, w, b: torch.conv_tbc(x, w, b, 1), torch.randn(7, 2, 3), torch.randn(3, 3, 4), torch.randn(4))
