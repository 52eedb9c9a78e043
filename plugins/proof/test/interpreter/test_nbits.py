# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits: the order of codes, the last block, panels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy
import pytest
from interpreted import meant


@pytest.mark.parametrize(
    ("bits", "codes"), [(2, [1, 2, 3, 0, 2, 2, 2, 2] + [2] * 8), (4, [1, 2, 15, 0, 8, 8, 8, 8]), (8, [1, 2, 255, 0])]
)
def test_the_order_of_codes(bits: int, codes: Any) -> None:
    count = 8 // bits
    packed = [
        sum(code << bits * place for place, code in enumerate(codes[at : at + count]))
        for at in range(0, len(codes), count)
    ]
    x = numpy.eye(len(codes))[:4].astype("float32")
    held: Any = numpy.array(packed, "uint8").reshape(1, 1, -1), numpy.array([[0.5]], "float32")
    found = meant("matmul_nbits", x, *held, bits=bits, block_size=len(codes))
    assert found.ravel().tolist() == [(code - 2 ** (bits - 1)) / 2 for code in codes[:4]]
    found = meant("matmul_nbits", x, *held, numpy.array([[1]], "uint8"), bits=bits, block_size=len(codes))
    assert found.ravel().tolist() == [(code - 1) / 2 for code in codes[:4]]


def test_blocks_and_panels() -> None:
    """Three columns of two blocks, of which the last is half used."""
    random = numpy.random.default_rng(2)
    codes, scale = random.integers(0, 256, (3, 2, 4)).astype("uint8"), random.normal(size=(3, 2)).astype("float32")
    zero, bias = random.normal(size=(3, 2)).astype("float32"), numpy.array([1.0, 2.0, 3.0], "float32")
    x = random.normal(size=(2, 12)).astype("float32")
    found = meant("matmul_nbits", x, codes, scale, zero, bias, block_size=8)
    numbers = numpy.stack([codes & 15, codes >> 4], -1).reshape(3, 2, 8).astype(float)
    matrix = ((numbers - zero[..., None]) * scale[..., None].astype(float)).reshape(3, 16)[:, :12]
    numpy.testing.assert_allclose(found, x @ matrix.T + bias, rtol=1e-5)

    def panels(array: Any) -> Any:
        """Split columns into panels of two, with one column of zeros at the end."""
        whole = numpy.concatenate([array, numpy.zeros((1, *array.shape[1:]), array.dtype)])
        return numpy.moveaxis(whole.reshape(2, 2, *array.shape[1:]), 1, min(2, whole.ndim))

    words = panels(codes).reshape(2, 2, 8)
    packed: Any = words, panels(scale), panels(zero), panels(bias)
    attributes: Any = {"block_size": 8, "columns": 3, "lanes": 2}
    assert meant("matmul_nbits_panels", x, *packed, **attributes).tolist() == found.tolist()


def test_offsets_and_two_levels_of_scales() -> None:
    """A column of four blocks of 6 bits: two blocks share an outer scale and an outer offset."""
    low, high = 0x21, 0b11100100
    codes = numpy.array([[[low] * 8 + [high] * 4] * 4], "uint8")
    scale, offset = numpy.array([[1, -2, 3, 4]], "int8"), numpy.array([[0, 1, 2, 3]], "uint8")
    outer = numpy.array([[0.5, 2.0]], "float32"), numpy.array([[-1.0, 10.0]], "float32")
    x = numpy.eye(64, dtype="float32")[::16] + 0.5 * numpy.eye(64, k=3, dtype="float32")[::16]
    found = meant("matmul_nbits", x, codes, scale, None, None, offset, *outer, bits=6, block_size=16)
    # The first code is 1 + 16 * 0, the fourth 2 + 16 * 3.
    expected = [1.5 * each + (1 + 25) * factor for each, factor in zip([0, -1, 20, 30], [0.5, -1, 6, 8], strict=True)]
    assert found.ravel().tolist() == expected


def _to_f32(number: Fraction) -> Fraction:
    """Round a number to 24 bits, ties to even."""
    if not number:
        return number
    exponent = abs(number).numerator.bit_length() - abs(number).denominator.bit_length()
    step = Fraction(2) ** (exponent - 24 if abs(number) >= Fraction(2) ** exponent else exponent - 25)
    step *= 2  # the highest bit is at `exponent`, or the one below it
    return round(number / step) * step


@pytest.mark.parametrize("zeros", ["codes", "offset"])
def test_rounded_rows(zeros: str) -> None:
    """Compute each step of the definition in exact numbers, rounded to f32."""
    random = numpy.random.default_rng(3)
    codes, scale = random.integers(0, 256, (3, 2, 4)).astype("uint8"), random.normal(size=(3, 2)).astype("float32")
    zero, offset = random.integers(0, 16, (3, 2)).astype("uint8"), random.normal(size=(3, 2)).astype("float32")
    x, bias = random.normal(size=(4, 13)).astype("float32"), random.normal(size=3).astype("float32")
    held = {"codes": (None, zero)[zeros == "codes"], "offset": offset if zeros == "offset" else None}
    found = meant("matmul_nbits", x, codes, scale, held["codes"], bias, held["offset"], block_size=8, activation_bits=8)
    numbers = numpy.stack([codes & 15, codes >> 4], -1).reshape(3, 2, 8)
    padded = numpy.pad(x, ((0, 0), (0, 3))).reshape(4, 2, 8)
    for row, column in numpy.ndindex(4, 3):
        total = Fraction(float(bias[column]))
        for block in range(2):
            part = [Fraction(float(each)) for each in padded[row, block]]
            own = _to_f32(max(map(abs, part)) / 127)
            digits = [round(_to_f32(each / own)) for each in part]
            factor = Fraction(float(scale[column, block]))
            added = Fraction(float(offset[column, block]))
            if zeros == "codes":
                added = -_to_f32(factor * int(zero[column, block]))
            total = _to_f32(added * _to_f32(sum(digits) * own) + total)
            dot = sum(digit * int(code) for digit, code in zip(digits, numbers[column, block], strict=True))
            total = _to_f32(dot * _to_f32(own * factor) + total)
        assert float(total) == found[row, column]


def test_rounded_rows_without_a_scale() -> None:
    """Blocks of zeros add nothing. A block with an infinity or NaN makes the row NaN."""
    codes, scale = numpy.full((1, 2, 4), 0x99, "uint8"), numpy.ones((1, 2), "float32")
    x = numpy.zeros((4, 16), "float32")
    x[1, 8:], x[2, 0], x[3, 15] = 127, numpy.inf, numpy.nan
    found = meant("matmul_nbits", x, codes, scale, block_size=8, activation_bits=8)
    assert found[:2].ravel().tolist() == [0, 8 * 127]
    assert numpy.isnan(found[2:]).all()


def test_nothing() -> None:
    nothing = numpy.zeros((0, 2, 4), "uint8"), numpy.zeros((0, 2), "float16")
    assert meant("matmul_nbits", numpy.zeros((3, 16), "float16"), *nothing, block_size=8).shape == (3, 0)
