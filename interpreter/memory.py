# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that programs allocate and see in other ways: what memrefs are.

A memref is an array, all of whose views have the array that was allocated as their base. Bytes are seen as elements of
any type. With wide floats each byte takes the room of eight, so that the elements
of each type have the places relative to one another that the program has planned, and room for an f64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from ..dialects.core.infos import is_float
from .held_values import Numbers, stored

if TYPE_CHECKING:
    from numpy import ndarray

#: A byte of memory with wide floats.
_WIDE_BYTE = numpy.dtype("V8")


class Memory:
    """What has been allocated, as far as it matters."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        #: Memory that was given back, by its identity, so that nothing else gets that.
        self.freed: dict[int, ndarray] = {}

    def allocate(self, shape: tuple[int, ...], dtype: str) -> ndarray:
        """Memory that nothing has been written to; of bytes, these are NaN as floats of any type."""
        if self._numbers.wide:
            return self._wide(shape, dtype)
        return numpy.full(shape, -1, numpy.int8) if dtype == "i8" else self._numbers.empty(shape, dtype)

    def holding(self, array: ndarray, dtype: str) -> ndarray:
        """Memory with the elements of an array: its own, where that is memory already."""
        if not self._numbers.wide:
            return numpy.ascontiguousarray(array).view(stored(dtype)).reshape(array.shape)
        found = self._wide(array.shape, dtype)
        found[...] = array.view(found.dtype) if array.dtype.kind in "iu" else array
        return found

    def _wide(self, shape: tuple[int, ...], dtype: str) -> ndarray:
        held, unit = self._numbers.dtype(dtype), 8 * stored(dtype).itemsize
        base = numpy.empty(max(math.prod(shape), 1) * unit // 8, _WIDE_BYTE)
        base.view(numpy.uint8)[...] = 255
        return numpy.ndarray(shape, held, base, 0, _row_major(shape, unit))

    def free(self, array: ndarray) -> bool:
        """Whether it had not been given back before."""
        base = base_of(array)
        if id(base) in self.freed:
            return False
        self.freed[id(base)] = base
        return True

    def is_freed(self, array: ndarray) -> bool:
        return id(base_of(array)) in self.freed

    def viewed(self, array: ndarray, offset: int, shape: tuple[int, ...], dtype: str) -> ndarray:
        """Elements of a type, one behind the other, so many bytes behind the array's first. Raises ValueError outside
        of its memory.
        """
        held, base, unit = self._numbers.dtype(dtype), base_of(array), stored(dtype).itemsize
        if base.dtype == _WIDE_BYTE:
            return self._at(base, address(array) + 8 * offset, shape, held, _row_major(shape, 8 * unit))
        found = self._at(base, address(array) + offset, shape, stored(dtype), _row_major(shape, unit))
        if held == stored(dtype):
            return found
        # A constant's, which stays as it is.
        found = found.astype(held)
        found.flags.writeable = False
        return found

    def reinterpreted(
        self, array: ndarray, offset: int, shape: Sequence[int], strides: Sequence[int], dtype: str
    ) -> ndarray:
        """Elements that are so far from the first one of an array. Raises ValueError outside of its memory."""
        unit = self.unit(array, dtype)
        start = address(array) + offset * unit
        return self._at(base_of(array), start, tuple(shape), array.dtype, [stride * unit for stride in strides])

    def unit(self, array: ndarray, dtype: str) -> int:
        """How far elements are from one another, in bytes."""
        return 8 * stored(dtype).itemsize if base_of(array).dtype == _WIDE_BYTE else array.itemsize

    def _at(self, base: ndarray, start: int, shape: tuple[int, ...], dtype: Any, strides: Sequence[int]) -> ndarray:
        if 0 in shape:
            return numpy.empty(shape, dtype)
        first = start - address(base)
        reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        lowest = sum(min((size - 1) * stride, 0) for size, stride in zip(shape, strides, strict=True))
        if first + lowest < 0 or first + reach + dtype.itemsize > base.nbytes:
            raise ValueError("it is larger than its memory")
        return numpy.ndarray(shape, dtype, base, first, strides)


def _row_major(shape: tuple[int, ...], unit: int) -> list[int]:
    """Strides in bytes."""
    return [unit * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def base_of(array: Any) -> Any:
    """The array whose memory it is."""
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    return array


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def is_wide(numbers: Numbers, dtype: str) -> bool:
    """Whether elements are held as f64 that are floats of another type."""
    return numbers.wide and is_float(dtype) and dtype != "f64"
