# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of arrays to the last bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

if TYPE_CHECKING:
    from numpy import ndarray

_BYTE_BITS = 8


class ArrayDifference(NamedTuple):
    """First difference of two lists of arrays."""

    #: Index of the array in its list.
    result: int
    #: Index of the element, or None if the type or the shape differs.
    place: tuple[int, ...] | None
    #: Both elements; both types or shapes without a place.
    values: tuple[Any, Any]
    #: Distance in units in the last place. None between a number and a NaN, and without a place.
    ulps: int | None = None
    #: Number of elements of the array that differ, and of all its elements.
    differing: int = 0
    size: int = 0

    def between(self, one: str, other: str) -> str:
        """Describe the difference between two programs of these names."""
        first, second = self.values
        if self.place is None:
            return f"result {self.result} is {first} in {one}, {second} in {other}"
        far = "" if self.ulps is None else f", {self.ulps} unit{'' if self.ulps == 1 else 's'} in the last place apart"
        return (
            f"result {self.result} differs at {self.place}: {first} in {one}, {second} in {other}{far} "
            f"({self.differing} of {self.size} elements differ)"
        )


def first_difference(one: Sequence[Any], other: Sequence[Any]) -> ArrayDifference | None:
    """Return the first difference of two lists of arrays, or None if all bits are equal.

    Any NaN equals any NaN, because CPUs set different payloads. 0 and -0 differ.
    """
    if len(one) != len(other):
        return ArrayDifference(min(len(one), len(other)), None, (f"of {len(one)}", f"of {len(other)}"))
    for result, (a, b) in enumerate(zip(one, other, strict=True)):
        if a is None and b is None:
            continue
        if (found := _difference(result, numpy.asarray(a), numpy.asarray(b))) is not None:
            return found
    return None


def _difference(result: int, a: ndarray, b: ndarray) -> ArrayDifference | None:
    if a.dtype != b.dtype or a.shape != b.shape:
        return ArrayDifference(result, None, (f"{a.dtype} {a.shape}", f"{b.dtype} {b.shape}"))
    is_other = ~_are_equal(a, b)
    if not is_other.any():
        return None
    place = tuple(int(each) for each in numpy.argwhere(is_other)[0])
    values = a[place], b[place]
    return ArrayDifference(result, place, values, _ulps(*values), int(is_other.sum()), a.size)


def _are_equal(a: ndarray, b: ndarray) -> ndarray:
    """Compare each element."""
    equal = numpy.ones(a.shape, bool)
    for first, second in zip(_parts(a), _parts(b), strict=True):
        if not _is_float(first.dtype):
            equal &= numpy.asarray(first == second)
            continue
        with numpy.errstate(all="ignore"):
            both_nan = numpy.isnan(first) & numpy.isnan(second)
        equal &= numpy.asarray(_bits(first) == _bits(second)) | both_nan
    return equal


def _parts(array: ndarray) -> Iterator[ndarray]:
    """Yield an array, or the real and the imaginary part of complex numbers."""
    if array.dtype.kind == "c":
        yield from (array.real, array.imag)
    else:
        yield array


def _is_float(dtype: numpy.dtype) -> bool:
    """Check for floating-point numbers, also of ml_dtypes, which NumPy takes for raw bytes."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def _bits(array: ndarray) -> ndarray:
    return numpy.ascontiguousarray(array).view(f"uint{_BYTE_BITS * array.dtype.itemsize}").reshape(array.shape)


def _ulps(a: Any, b: Any) -> int | None:
    """Return the distance of two numbers in units in the last place."""
    first, second = numpy.asarray(a), numpy.asarray(b)
    if first.dtype.kind in "iu":
        return abs(int(first) - int(second))
    if not _is_float(first.dtype) or numpy.isnan(first) or numpy.isnan(second):
        return None
    return abs(_rank_number(first) - _rank_number(second))


def _rank_number(value: ndarray) -> int:
    """Return a number's position among all numbers of its type. 0 is at 0 and -0 at -1."""
    bits, sign = int(_bits(value)), 1 << (_BYTE_BITS * value.dtype.itemsize - 1)
    return bits if bits < sign else sign - bits - 1
