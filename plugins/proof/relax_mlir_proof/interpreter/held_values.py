# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values during interpretation: arrays for tensors, tuples for shapes, NumPy scalars.

Elements have their own type, if necessary from ml_dtypes. With `Numbers(wide=True)` the floats of graphs are f64
without intermediate rounding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax.constants import storage_dtype

if TYPE_CHECKING:
    from numpy import ndarray

#: Value of a tensor, a scalar or a shape during interpretation.
HeldValue: TypeAlias = "ndarray | numpy.generic | tuple[int, ...]"
#: Elements in an array or as a NumPy scalar. Both have the same attributes and operators.
Elements: TypeAlias = "ndarray | numpy.number | numpy.bool"
#: Integers in an array or as a NumPy scalar.
Integers: TypeAlias = "ndarray | numpy.integer"


@lru_cache(maxsize=128)
def stored(dtype: str) -> numpy.dtype:
    """Return the NumPy or ml_dtypes type of an MLIR element type. Odd integer widths use the next larger type."""
    if dtype == "index":
        return numpy.dtype(numpy.int64)
    bits = int(dtype.lstrip("ui")) if dtype.lstrip("ui").isdigit() else 0
    odd = 0 < bits < 64 and bits not in (1, 2, 4, 8, 16, 32)
    room = next((width for width in (8, 16, 32, 64) if bits <= width), 64)
    return storage_dtype(f"{dtype[: -len(str(bits))]}{room}" if odd else dtype)


class Numbers:
    """Types in which elements are computed."""

    def __init__(self, wide: bool) -> None:
        self.wide = wide

    def dtype(self, dtype: str) -> numpy.dtype:
        """Return the type in which elements of a type are stored."""
        return numpy.dtype(numpy.float64) if self.wide and is_float(dtype) else stored(dtype)

    def held(self, array: object, dtype: str) -> ndarray:
        """Convert an array to the storage type of an element type, rounding to narrower types."""
        return _round(numpy.asarray(array), self.dtype(dtype), dtype)

    def empty(self, shape: tuple[int, ...], dtype: str) -> ndarray:
        """Return uninitialised memory: NaN, or integers that are unlikely results."""
        found = self.dtype(dtype)
        if found.kind in "iu":
            return numpy.full(shape, numpy.iinfo(found).max // 3, found)
        return numpy.full(shape, True if found.kind == "b" else numpy.nan, found)


def _round(array: ndarray, target: numpy.dtype, dtype: str) -> ndarray:
    if target.isbuiltin == 2 and is_float(dtype) and array.dtype != target:
        array = _to_odd(array.astype(numpy.float64, copy=False))
    return array.astype(target, copy=False)


def _to_odd(array: ndarray) -> ndarray:
    """Round numbers to f32, with a last bit that records inexactness (round to odd).

    ml_dtypes rounds to narrower types by way of f32. From such numbers, that rounding is a single one.
    """
    near = array.astype(numpy.float32)
    other = numpy.nextafter(near, numpy.where(array > near, numpy.float32(numpy.inf), numpy.float32(-numpy.inf)))
    is_even = near.view(numpy.uint32) & 1 == 0
    return numpy.where((near != array) & is_even & ~numpy.isnan(array), other, near)


def computed(array: ndarray | numpy.generic) -> Any:
    """Return the array in the types of reference functions: floats as f64, sub-byte integers as bytes."""
    if array.dtype.kind == "f":
        return array.astype(numpy.float64, copy=False)
    if array.dtype.isbuiltin != 2:
        return array
    name = array.dtype.name
    return array.astype(numpy.uint8 if name.startswith("uint") else numpy.int8 if name.startswith("int") else float)
