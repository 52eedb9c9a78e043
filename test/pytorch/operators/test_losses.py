# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check
from torch.nn import functional


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_classes(reduction: str) -> None:
    logits, weight = torch.randn(4, 5), torch.rand(5)
    target = torch.tensor([1, 4, -100, 0])
    check(
        lambda x, t, w: (
            functional.cross_entropy(x, t, reduction=reduction),
            functional.cross_entropy(x, t, w, reduction=reduction, label_smoothing=0.2),
            functional.cross_entropy(x, t.abs() % 5, ignore_index=1, reduction=reduction, label_smoothing=0.2),
            functional.nll_loss(x, t, w, reduction=reduction),
        ),
        logits,
        target,
        weight,
        dynamic=True,
    )


def test_of_pictures_and_of_one_row() -> None:
    check(lambda x, t: functional.cross_entropy(x, t), torch.randn(2, 3, 4, 5), torch.randint(0, 3, (2, 4, 5)))
    check(lambda x, t: functional.cross_entropy(x, t, label_smoothing=0.1), torch.randn(5), torch.tensor(3))


def test_of_probabilities() -> None:
    logits, target, weight = torch.randn(4, 5), torch.randn(4, 5).softmax(1), torch.rand(5)
    check(lambda x, t, w: functional.cross_entropy(x, t, w, label_smoothing=0.1), logits, target, weight)
    check(lambda x, t: functional.cross_entropy(x.half(), t.half(), reduction="sum"), logits, target)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_numbers(reduction: str) -> None:
    check(
        lambda x, y: tuple(
            loss(x, y, reduction=reduction)
            for loss in (functional.mse_loss, functional.l1_loss, functional.smooth_l1_loss, functional.huber_loss)
        ),
        torch.randn(3, 4),
        torch.randn(3, 4),
        dynamic=True,
    )


def test_losses_of_probabilities() -> None:
    p, t = torch.rand(3, 4), torch.rand(3, 4)
    check(
        lambda p, t: (
            functional.binary_cross_entropy(p, t),
            functional.binary_cross_entropy_with_logits(p * 50 - 25, t),
            functional.kl_div(p.log(), t, reduction="batchmean"),
            functional.poisson_nll_loss(p, t),
        ),
        p,
        t,
    )
