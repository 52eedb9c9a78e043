# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for element types: conversions between types, and limits of a type's range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import bit_width, is_bool, is_float, is_unsigned

if TYPE_CHECKING:
    from numpy import ndarray


def limits(dtype: str) -> tuple[int, int]:
    """Return the lowest and the highest integer of a type."""
    if is_bool(dtype):
        return 0, 1
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def lowest(dtype: str) -> float:
    """Return the identity of max: no element is lower."""
    return -numpy.inf if is_float(dtype) else limits(dtype)[0]


def highest(dtype: str) -> float:
    """Return the identity of min: no element is higher."""
    return numpy.inf if is_float(dtype) else limits(dtype)[1]


def converted(x: ndarray, dtype: str) -> ndarray:
    """Convert elements to another type.

    Floats become integers by truncation and saturation, with 0 for NaN. Integers keep their low bits. A bool is true if
    the element is not zero, which includes NaN.
    """
    array = numpy.asarray(x)
    if is_bool(dtype):
        return array != 0
    if is_float(dtype):
        return array  # rounded once, as a result
    if array.dtype.kind != "f":
        return array.astype(wide_integer(dtype))
    return numpy.vectorize(lambda each: _cut(each, dtype), otypes=[wide_integer(dtype)])(array)


def wide_integer(dtype: str) -> str:
    """Return the accumulator type for integers of a type, with the same low bits in sums."""
    return "uint64" if is_unsigned(dtype) else "int64"


def _cut(number: float, dtype: str) -> int:
    low, high = limits(dtype)
    if numpy.isnan(number):
        return 0
    if numpy.isinf(number):
        return high if number > 0 else low
    return max(low, min(high, int(number)))
