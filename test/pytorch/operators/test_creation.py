# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation of tensors, numbers that are read from tensors, and assertions, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import PEER, check, exported

OTHERS = [(torch.randn(7, 3),), (torch.randn(3, 9),)]


def test_of_unknown_sizes() -> None:
    check(
        lambda x: (
            torch.arange(x.shape[0]),
            torch.arange(x.shape[0], 0, -1),
            torch.arange(0, x.shape[0], 2),
            torch.eye(x.shape[0], x.shape[1]),
            torch.ones(x.shape[0], 2),
            torch.zeros_like(x, dtype=torch.int8),
            torch.full((x.shape[1],), 3.5),
            x.new_zeros(x.shape[0]),
            torch.full_like(x, x.shape[0]),
        ),
        torch.randn(4, 6),
        dynamic=True,
        others=OTHERS,
    )


def test_ranges() -> None:
    check(
        lambda x: (
            torch.arange(2**40, 2**40 + 3),
            torch.arange(0.0, 1.0, 0.1),
            torch.arange(0.5, 6, 1.5, dtype=torch.int64),
            torch.linspace(0, 7, 50, dtype=torch.int64),
            torch.linspace(-3, 3.5, 7),
            torch.linspace(2, 3, 1),
            torch.linspace(x[0], x[1], 6),
            torch.logspace(0, 3, 4, base=2.0),
        ),
        torch.randn(2),
    )


def test_windows() -> None:
    names = ("hann", "hamming", "bartlett", "blackman", "kaiser")
    check(lambda x: [getattr(torch, f"{name}_window")(9) * x for name in names], torch.randn(9))


def test_copies() -> None:
    check(
        lambda x: (torch.zeros(2, 4, 6, dtype=torch.int64).copy_(x * 9), x.clone().fill_(3.0), x.clone().zero_()),
        torch.randn(4, 6),
    )


def _of_a_number(x: torch.Tensor, count: torch.Tensor) -> object:
    n = count.item()
    torch._check(n >= 0)
    torch._check(n <= 3)
    return torch.zeros(n) + torch.arange(n), torch.cat([x[:n], torch.ones(n, 6)]), n, n * 0.5


def test_sizes_that_are_read_from_a_tensor() -> None:
    x = torch.randn(4, 6)
    check(_of_a_number, x, torch.tensor(2), others=[(x, torch.tensor(0)), (x, torch.tensor(3))])


@pytest.mark.parametrize(("count", "message"), [(4, "u0 <= 3"), (-1, "the size of dimension 0 is negative: -1")])
def test_assertions(count: int, message: str) -> None:
    x = torch.randn(4, 6)
    run = PEER.compiled(PEER.imported(exported(_of_a_number, (x, torch.tensor(2)))))
    with pytest.raises(Exception, match=message):
        run([x, torch.tensor(count)])


def test_other_numbers_that_are_read() -> None:
    check(
        lambda x, is_on, factor: (x * factor.item(), torch.tensor(is_on.item()), is_on.item(), x.sum().long().item()),
        torch.tensor([1.0, 2.0]),
        torch.tensor(True),
        torch.tensor(1.5),
    )
