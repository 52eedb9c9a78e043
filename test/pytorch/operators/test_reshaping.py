# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes, orders, copies and diagonals, compared with torch, of known and of unknown sizes."""

from __future__ import annotations

import pytest
import torch
from imported import check
from torch.nn import functional
from torch.testing._internal.common_utils import DeterministicGuard

OTHERS = [(torch.randn(7, 3),), (torch.randn(5, 9),)]


def test_shapes_of_unknown_sizes() -> None:
    check(
        lambda x: (
            x.view(-1),
            x.reshape(1, -1),
            x.t(),
            x.mT,
            x.T,
            x.movedim(0, 1),
            x.unsqueeze(1).squeeze(),
            x.unsqueeze(0).expand(3, -1, -1),
            x.squeeze(0),
            x.view(1, -1, 1).squeeze((0, 2)),
        ),
        torch.randn(4, 6),
        dynamic=True,
        others=OTHERS,
    )


def test_copies_of_unknown_sizes() -> None:
    check(
        lambda x: (x.repeat(x.shape[0], 2, 1), x.tile(2), x.repeat_interleave(x.shape[0], 1), x.repeat_interleave(2)),
        torch.randn(4, 6),
        dynamic=True,
        others=OTHERS,
    )


def test_moved_elements_of_unknown_sizes() -> None:
    check(
        lambda x: (
            x.roll((1, -2), (0, 1)),
            x.roll(3),
            x.flip((0, 1)),
            torch.rot90(x),
            x.unfold(0, 2, 1),
            x.unfold(1, 3, 2),
        ),
        torch.randn(4, 6),
        dynamic=True,
        others=OTHERS,
    )


def test_diagonals_of_unknown_sizes() -> None:
    check(
        lambda x: (
            x.diagonal(),
            torch.diag_embed(x, 1),
            torch.diag_embed(x, -2, 0, 1),
            torch.diag(x[0], -1),
            x.tril(-1),
            x.triu(1),
            torch.trace(x),
        ),
        torch.randn(4, 6),
        dynamic=True,
        others=OTHERS,
    )


def test_repeats_that_depend_on_data() -> None:
    check(
        lambda x, counts: (
            x.repeat_interleave(counts, 0),
            x.repeat_interleave(counts, 1),
            torch.repeat_interleave(counts),
        ),
        torch.randn(3, 3),
        torch.tensor([1, 0, 2]),
        others=[(torch.randn(3, 3), torch.tensor([0, 0, 0]))],
    )


def test_bits() -> None:
    check(
        lambda x: (
            x.view(torch.int32),
            x.view(torch.int16),
            x.view(torch.uint8),
            x.view(torch.int64),
            x.double().view(torch.float32),
            x.half().view(torch.int16),
        ),
        torch.randn(2, 6),
    )


def test_strides() -> None:
    check(
        lambda x: (
            x.t().as_strided((3, 2), (1, 2)),
            x[1:].as_strided((2, 2), (1, 1), 7),
            torch.as_strided_scatter(x.t(), x[:3, :2], (3, 2), (2, 7), 4),
        ),
        torch.randn(4, 6),
    )


def test_strides_around_the_tensor_are_refused() -> None:
    with pytest.raises(Exception, match="memory around the tensor's own"):
        check(lambda x: x[1:].as_strided((2, 2), (1, 1), 0), torch.randn(4, 6))


def test_channels_as_pixels() -> None:
    x = torch.randn(2, 8, 4, 6)
    check(lambda x: (functional.pixel_shuffle(x, 2), functional.pixel_unshuffle(x, 2)), x)
    check(lambda x: functional.channel_shuffle(x, 4), x)


def test_other_sizes_of_one_memory() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    check(lambda x: torch.ops.aten.resize(x, [2, 5]), x)
    check(lambda x, y: torch.ops.aten.resize_as(x, y), x, torch.zeros(6, 2), dynamic=True)
    check(lambda x: torch.ops.aten.resize(x, [4, 4])[:3], x)
    check(lambda x: torch.ops.aten.resize(x.t(), [2, 3]), x)


def test_other_sizes_in_the_order_of_memory() -> None:
    x = torch.arange(36.0).reshape(1, 3, 4, 3)
    last = torch.channels_last
    check(lambda x: torch.ops.aten.resize(x, [1, 3, 2, 3], memory_format=last), x)
    check(lambda x: torch.ops.aten.resize(x, [1, 2, 3, 3]), x.contiguous(memory_format=last))


def test_uninitialized_memory_in_deterministic_mode() -> None:
    for x in (torch.arange(3.0), torch.arange(3)):
        with DeterministicGuard(True):
            check(lambda x: torch.ops.aten.resize(x, [2, 4]), x)
