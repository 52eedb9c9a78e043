# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations by hand: axes, parameters, means."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from interpreted import meant

X = numpy.array([[1.0, 3.0, 8.0], [5.0, 7.0, 8.0]])
ONES, ZEROS = numpy.ones(3), numpy.zeros(3)


def test_layers() -> None:
    """Compute the variance over all elements: the variance of 1 and 3 is 1."""
    pair = X[:, :2]
    found = meant("nn.layer_norm", pair, ONES[:2] * 2, ONES[:2], axes=(-1,), epsilon=0.0)
    assert found.tolist() == [[-1, 3], [-1, 3]]
    plain = meant("nn.layer_norm", pair, ONES[:2] * 2, ONES[:2], axes=(1,), epsilon=3.0, center=False, scale=False)
    assert plain.tolist() == [[-0.5, 0.5], [-0.5, 0.5]]
    # A parameter's dimensions are the axes in the order that is given.
    gamma = numpy.arange(6.0).reshape(3, 2)
    found = meant("nn.layer_norm", X, gamma, gamma * 0, axes=(1, 0))
    expected = meant("nn.layer_norm", X, gamma.T.copy(), gamma.T * 0, axes=(0, 1))
    assert found.tolist() == expected.tolist()


def test_root_mean_squares() -> None:
    found = meant("nn.rms_norm", numpy.array([[1.0, 7.0]]), numpy.array([5.0, 10.0]), epsilon=0.0)
    assert found.tolist() == [[1, 14]]


def test_channels() -> None:
    """Normalize rows of one channel each. In a group of two channels the variance is over four elements."""
    x = numpy.array([0.0, 2.0, 4.0, 6.0]).reshape(1, 2, 2)
    scale = numpy.array([1.0, 10.0])
    common: Any = {"channel_axis": 1, "axes": (2,), "epsilon": 0.0}
    assert meant("nn.instance_norm", x, scale, scale, **common).ravel().tolist() == [0, 2, 0, 20]
    assert meant("nn.group_norm", x, scale, scale, num_groups=2, **common).ravel().tolist() == [0, 2, 0, 20]
    together = meant("nn.group_norm", x, scale, scale * 0, num_groups=1, **common).ravel()
    numpy.testing.assert_allclose(together, numpy.array([-3, -1, 10, 30]) / 5**0.5)
    turned = meant("nn.group_norm", x.swapaxes(1, 2).copy(), scale, scale * 0, num_groups=1,
                   channel_axis=-1, axes=(1,), epsilon=0.0)  # fmt: skip
    numpy.testing.assert_allclose(turned[0].T.ravel(), together)


def test_batches() -> None:
    given = X, ONES, ZEROS, ONES * 2, ONES * 4
    result, mean, variance = meant("nn.batch_norm", *given, axis=1, training=False, epsilon=0.0)
    assert result.tolist() == ((X - 2) / 2).tolist()
    assert (mean.tolist(), variance.tolist()) == ([2] * 3, [4] * 3)
    result, mean, variance = meant("nn.batch_norm", *given, axis=1, momentum=0.25, epsilon=12.0)
    assert result.tolist() == [[-0.5, -0.5, 0], [0.5, 0.5, 0]]
    assert (mean.tolist(), variance.tolist()) == ([2.25, 2.75, 3.5], [4, 4, 3])


def test_nothing_and_sizes() -> None:
    assert numpy.isnan(meant("nn.batch_norm", X[:0], *[ONES] * 4, axis=1)[1]).all()
    assert meant("nn.layer_norm", X[:0], ONES, ONES, axes=(1,)).shape == (0, 3)
    with pytest.raises(ValueError, match="gamma and the data along axis 1: sizes 1 and 3 differ"):
        meant("nn.layer_norm", X, ONES[:1], ONES[:1], axes=(1,), symbols=[("n", "m"), ("k",), ("k",)])
    with pytest.raises(ValueError, match="2 groups of channels: sizes 2 and 3 differ"):
        meant(
            "nn.group_norm", X, ONES, ONES, num_groups=2, channel_axis=1, axes=(), symbols=[("n", "c"), *[("c",)] * 2]
        )
