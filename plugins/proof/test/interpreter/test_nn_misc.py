# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding in its modes, wider than the data and negative; channels moved to height and width."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from interpreted import meant

ROW = numpy.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [7] * 5 + [1, 2, 3, 7]),
        ("reflect", [2, 1, 2, 3, 2, 1, 2, 3, 2]),
        ("replicate", [1] * 5 + [1, 2, 3, 3]),
        ("circular", [2, 3, 1, 2, 3, 1, 2, 3, 1]),
    ],
)
def test_modes(mode: str, expected: Any) -> None:
    assert meant("nn.pad", ROW, pad_width=(5, 1), pad_mode=mode, pad_value=7.0).tolist() == expected
    assert meant("nn.pad", ROW, pad_width=(5, -2), pad_mode=mode, pad_value=7.0).tolist() == expected[:6]
    assert meant("nn.pad", ROW, pad_width=(-1, 1), pad_mode=mode, pad_value=7.0).tolist() == expected[6:]
    one = meant("nn.pad", ROW[:1], pad_width=(1, 1), pad_mode=mode, pad_value=1.0)
    assert one.tolist() == [1, 1, 1]


def test_nothing() -> None:
    assert meant("nn.pad", ROW[:0], pad_width=(1, 1), pad_value=7.0).tolist() == [7, 7]
    assert meant("nn.pad", numpy.array(3.0), pad_width=()).item() == 3
    with pytest.raises(ValueError, match="there is nothing to pad it with"):
        meant("nn.pad", ROW[:0], pad_width=(1, 1), pad_mode="reflect", symbols=[("n",)])
    with pytest.raises(ValueError, match="axis 0 has 3 elements, of which 4 are to be removed"):
        meant("nn.pad", ROW, pad_width=(-2, -2), symbols=[("n",)])


def test_element_types() -> None:
    for dtype, value, expected in (("uint8", -1, 255), ("bool", 2, True), ("int64", 2**62 + 1, 2**62 + 1)):
        assert meant("nn.pad", numpy.zeros(1, dtype), pad_width=(0, 1), pad_value=value).tolist() == [0, expected]
    with pytest.raises(rx.RelaxError, match="no reference for these values"):
        meant("nn.pad", numpy.zeros(1, int), pad_width=(0, 1), pad_value=float("inf"))


def test_pixel_shuffle() -> None:
    x = numpy.arange(8).reshape(1, 4, 1, 2)
    assert meant("nn.pixel_shuffle", x, upscale_factor=2).tolist() == [[[[0, 2, 1, 3], [4, 6, 5, 7]]]]
    with pytest.raises(ValueError, match="channels to shuffle: sizes 3 and 0 differ"):
        meant("nn.pixel_shuffle", x[:, :3], upscale_factor=2, symbols=[("n", "c", 1, 2)])


def test_batch_flatten() -> None:
    assert meant("nn.batch_flatten", numpy.zeros((2, 3, 4))).shape == (2, 12)
    assert meant("nn.batch_flatten", numpy.zeros((0, 3, 4))).shape == (0, 12)
    assert meant("nn.batch_flatten", numpy.zeros((2, 0))).shape == (2, 0)
