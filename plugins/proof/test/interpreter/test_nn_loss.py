# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses by hand."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant

LOGS = numpy.array([[1.0, 2.0, numpy.inf], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize(
    ("reduction", "plain", "weighted", "ignoring"),
    [("none", [-2, -4], [-20, -4], [0, -4]), ("sum", -6, -24, -4), ("mean", -3, -24 / 11, -4)],
)
def test_targets(reduction: str, plain: Any, weighted: Any, ignoring: Any) -> None:
    targets, weights = numpy.array([1, 0]), numpy.array([1.0, 10.0, 0.0])
    assert meant("nn.nll_loss", LOGS, targets, reduction=reduction).tolist() == plain
    assert meant("nn.nll_loss", LOGS, targets, weights, reduction=reduction).tolist() == weighted
    left_out = meant("nn.nll_loss", LOGS, targets * 2, reduction=reduction, ignore_index=2)
    assert left_out.tolist() == ignoring


def test_images_and_single_predictions() -> None:
    assert meant("nn.nll_loss", LOGS[1], numpy.array(2, "int32")).item() == -6
    images = numpy.stack([LOGS, -LOGS], axis=-1)
    found = meant("nn.nll_loss", images, numpy.array([[0, 1], [2, 2]], "uint8"), reduction="none")
    assert found.tolist() == [[-1, 2], [-6, 6]]


def test_no_targets() -> None:
    assert numpy.isnan(meant("nn.nll_loss", LOGS, numpy.array([7, 7]), ignore_index=7))
    assert numpy.isnan(meant("nn.nll_loss", LOGS[:0], numpy.zeros(0, int)))
    for targets, wrong in (([0, 3], 3), ([-1, 0], -1)):
        with pytest.raises(IndexError, match=f"target {wrong} is out of range for 3 classes"):
            meant("nn.nll_loss", LOGS, numpy.array(targets))


def test_labels() -> None:
    x, labels = numpy.array([[1.0, 2.0], [3.0, 4.0]]), numpy.array([[1.0, 0.0], [0.5, 0.5]])
    assert meant("nn.cross_entropy_with_logits", x, labels).item() == -(1 + 3.5) / 2
    assert meant("nn.cross_entropy_with_logits", x[1], labels[1]).item() == -3.5
    assert numpy.isnan(meant("nn.cross_entropy_with_logits", x[:0], labels[:0]))
