# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What several families say of elements: conversions between types, and the ends of a type's range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from ...dialects.core.infos import bit_width, is_bool, is_float, is_unsigned

if TYPE_CHECKING:
    from numpy import ndarray


def limits(dtype: str) -> tuple[int, int]:
    """The lowest and the highest integer of a type."""
    if is_bool(dtype):
        return 0, 1
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def lowest(dtype: str) -> Any:
    """What no element is below."""
    return -numpy.inf if is_float(dtype) else limits(dtype)[0]


def highest(dtype: str) -> Any:
    """What no element is above."""
    return numpy.inf if is_float(dtype) else limits(dtype)[1]


def converted(x: ndarray, dtype: str) -> Any:
    """Elements as those of another type. Floats become integers towards zero and within their limits, NaN 0; integers
    keep their low bits; a bool is whether the element is not zero, which NaN is not.
    """
    array = numpy.asarray(x)
    if is_bool(dtype):
        return array != 0
    if is_float(dtype):
        return array  # which is rounded once, as a result
    if array.dtype.kind != "f":
        return array.astype(wide_integer(dtype))
    return numpy.vectorize(lambda each: _cut(each, dtype), otypes=[wide_integer(dtype)])(array)


def wide_integer(dtype: str) -> str:
    """What integers of a type are added up in: the low bits are those of their sum."""
    return "uint64" if is_unsigned(dtype) else "int64"


def _cut(number: float, dtype: str) -> int:
    low, high = limits(dtype)
    if numpy.isnan(number):
        return 0
    if numpy.isinf(number):
        return high if number > 0 else low
    return max(low, min(high, int(number)))
