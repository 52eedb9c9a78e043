# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations: values by hand, infinities and NaN, softmax of nothing."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy
import pytest
from interpreted import meant

SPECIAL = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.0])


@pytest.mark.parametrize(
    ("name", "attributes", "of_two", "of_special"),
    [
        ("relu", {}, (2, 0), (numpy.inf, 0)),
        ("gelu", {}, (1.9544997361036416, -0.04550026389635842), (numpy.inf, 0)),
        ("gelu_tanh", {}, (1.9545976940877752, -0.04540230591222498), (numpy.inf, numpy.nan)),
        ("selu", {}, (2.1014019747109613, -1.5201664685956948), (numpy.inf, -1.7580993408473768)),
        ("silu", {}, (1.7615941559557649, -0.23840584404423515), (numpy.inf, numpy.nan)),
        ("leakyrelu", {"alpha": 0.5}, (2, -1), (numpy.inf, -numpy.inf)),
        ("leakyrelu", {"alpha": 0.0}, (2, 0), (numpy.inf, numpy.nan)),
        ("softplus", {}, (2.1269280110429727, 0.1269280110429726), (numpy.inf, 0)),
        ("softplus", {"beta": 2.0, "threshold": 3.0}, (2, 0.00907496395890487), (numpy.inf, 0)),
    ],
)
def test_values(name: str, attributes: Any, of_two: Any, of_special: Any) -> None:
    two = meant(f"nn.{name}", numpy.array([2.0, -2.0]), **attributes)
    numpy.testing.assert_allclose(two, of_two, rtol=2e-15)
    special = meant(f"nn.{name}", SPECIAL, **attributes)
    numpy.testing.assert_allclose(special[:3], [numpy.nan, *of_special])


def test_gelu_far_below_zero() -> None:
    """Compare with mpmath's values in a range where erfc has a hundred times the error of its argument."""
    x = numpy.array([-10.0, -30.1, -38.0])
    expected = [-7.619853024160526e-23, -7.292228326137134e-198, -1.096462777e-314]
    numpy.testing.assert_allclose(meant("nn.gelu", x), expected, rtol=1e-14, atol=1e-320)


def test_integers_and_small_floats() -> None:
    assert meant("nn.relu", numpy.array([-3, 3], "int8")).tolist() == [0, 3]
    assert meant("nn.relu", numpy.array([-3, 3], ml_dtypes.float8_e5m2)).tolist() == [0, 3]


def test_slopes_of_channels() -> None:
    x, alpha = -numpy.ones((2, 3)), numpy.array([1.0, 2.0, 3.0])
    assert meant("nn.prelu", x, alpha).tolist() == [[-1, -2, -3]] * 2
    assert meant("nn.prelu", x, alpha[:1] + 4).tolist() == [[-5] * 3] * 2
    assert meant("nn.prelu", x.T, alpha, axis=-2).tolist() == [[-1] * 2, [-2] * 2, [-3] * 2]
    with pytest.raises(ValueError, match="sizes 3 and 2 differ"):
        meant("nn.prelu", x[:, :2], alpha, symbols=[("n", "c"), ("d",)])


def test_softmax() -> None:
    x = numpy.array([[1000.0, 1000.0, -numpy.inf], [-numpy.inf] * 3, [numpy.inf, 1.0, 2.0], [numpy.nan, 1.0, 2.0]])
    shares = meant("nn.softmax", x)
    assert shares[0].tolist() == [0.5, 0.5, 0]
    assert numpy.isnan(shares[1:]).all()
    logs = meant("nn.log_softmax", x)
    assert logs[0].tolist() == [-math.log(2), -math.log(2), -numpy.inf]
    assert meant("nn.softmax", numpy.zeros((2, 0))).shape == (2, 0)
    assert meant("nn.softmax", numpy.zeros((2, 3)), axis=0).tolist() == [[0.5] * 3] * 2


def test_dropout_keeps_all() -> None:
    result, mask = meant("nn.dropout", SPECIAL.astype("float16"))
    numpy.testing.assert_array_equal(result, SPECIAL.astype("float16"))
    assert mask.tolist() == [1] * 4
