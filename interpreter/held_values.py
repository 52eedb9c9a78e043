# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values while a module is interpreted: arrays for tensors, vectors and memrefs, tuples of integers for shapes, numbers
of numpy for scalars.

Elements have their own type, those that numpy lacks by ml_dtypes; with `Numbers(wide=True)` all floats are f64, and
nothing is rounded on the way, but in functions that look at floats' bits: what these do depends on the rounding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy

from ..dialects.core.infos import is_float
from ..dialects.relax.constants import storage_dtype

if TYPE_CHECKING:
    from numpy import ndarray

#: What a value is while a program is interpreted: of a tensor, a scalar, a shape.
HeldValue: TypeAlias = "ndarray | numpy.generic | tuple[int, ...]"


@lru_cache(maxsize=128)
def stored(dtype: str) -> numpy.dtype:
    """numpy's or ml_dtypes' type of elements that MLIR calls so; integers of another width have one that is larger."""
    if dtype == "index":
        return numpy.dtype(numpy.int64)
    bits = int(dtype.lstrip("ui")) if dtype.lstrip("ui").isdigit() else 0
    odd = 0 < bits < 64 and bits not in (1, 2, 4, 8, 16, 32)
    room = next((width for width in (8, 16, 32, 64) if bits <= width), 64)
    return storage_dtype(f"{dtype[: -len(str(bits))]}{room}" if odd else dtype)


class Numbers:
    """What elements are computed with."""

    def __init__(self, wide: bool, is_rounded: bool = False) -> None:
        self.wide = wide
        #: Whether wide floats are rounded to their types nevertheless, after each operation.
        self.is_rounded = is_rounded

    def dtype(self, dtype: str) -> numpy.dtype:
        """What elements of a type are held in."""
        return numpy.dtype(numpy.float64) if self.wide and is_float(dtype) else stored(dtype)

    def held(self, array: object, dtype: str) -> ndarray:
        """The array with its elements held as those of a type; they are rounded where that is narrower."""
        source = numpy.asarray(array)
        if self.is_rounded and is_float(dtype):
            source = _rounded(source, stored(dtype), dtype)
        return _rounded(source, self.dtype(dtype), dtype)

    def empty(self, shape: tuple[int, ...], dtype: str) -> ndarray:
        """Memory that nothing has been written to: NaN, and integers that hardly anything computes."""
        found = self.dtype(dtype)
        if found.kind in "iu":
            return numpy.full(shape, numpy.iinfo(found).max // 3, found)
        return numpy.full(shape, True if found.kind == "b" else numpy.nan, found)


def _rounded(array: ndarray, target: numpy.dtype, dtype: str) -> ndarray:
    if target.isbuiltin == 2 and is_float(dtype) and array.dtype != target:
        array = _to_odd(array.astype(numpy.float64, copy=False))
    return array.astype(target, copy=False)


def _to_odd(array: ndarray) -> ndarray:
    """Numbers as f32, with a last bit that says whether others are gone: narrower types are then rounded to once, which
    ml_dtypes does by way of f32.
    """
    near = array.astype(numpy.float32)
    other = numpy.nextafter(near, numpy.where(array > near, numpy.float32(numpy.inf), numpy.float32(-numpy.inf)))
    is_even = near.view(numpy.uint32) & 1 == 0
    return numpy.where((near != array) & is_even & ~numpy.isnan(array), other, near)


def computed(array: ndarray | numpy.generic) -> Any:
    """The array as meanings of operators take it: floats in f64, integers of less than a byte as bytes."""
    if array.dtype.kind == "f":
        return array.astype(numpy.float64, copy=False)
    if array.dtype.isbuiltin != 2:
        return array
    name = array.dtype.name
    return array.astype(numpy.uint8 if name.startswith("uint") else numpy.int8 if name.startswith("int") else float)
