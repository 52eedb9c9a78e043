# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays with the special values of their element types, and comparison of two such arrays."""

from __future__ import annotations

from typing import Any

import numpy


def several(dtype: Any, shape: tuple[int, ...], seed: int = 5) -> Any:
    """Return an array with many equal elements, special floats and limits of integers."""
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        special = [False, True]
    elif kind in "iu":
        limits = numpy.iinfo(dtype)
        special = [limits.min, limits.max, limits.max - 1, 0, 1, 3]
    else:
        special = [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1.0, -2.5, 3.0]
    values = numpy.array(special, dtype)
    return values[numpy.random.default_rng(seed).integers(0, len(values), shape)]


def same(actual: Any, expected: Any) -> None:
    """Equal shapes, element types and values; NaN equals NaN."""
    assert actual.dtype == expected.dtype
    if actual.dtype.isbuiltin == 2:
        # numpy takes no NaN of types that ml_dtypes adds for equal.
        actual, expected = actual.astype("float32"), expected.astype("float32")
    numpy.testing.assert_array_equal(actual, expected)


def same_bits(actual: Any, expected: Any, note: Any = "") -> None:
    """Equal shapes, element types and bits: 0.0 is not -0.0 here."""
    expected = numpy.asarray(expected)
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype), note
    assert actual.tobytes() == numpy.ascontiguousarray(expected).tobytes(), note
