# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of elements to another type, by value or by bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import is_float

from .held_values import Elements, Numbers, stored
from .integers import width, wrapped

if TYPE_CHECKING:
    from numpy import ndarray


def element_of(type_: Type) -> str:
    """Return the element type of a number, a vector, a tensor or a memref."""
    return str(type_.element_type if isinstance(type_, ir.ShapedType) else type_)


def integers_of(x: Elements, dtype: str) -> Elements:
    """Truncate floats to integers. Values without such an integer are undefined and give any integer."""
    held = numpy.asarray(x).astype(numpy.float64)
    return held.astype(stored(dtype))[()] if width(dtype) == 64 else wrapped(held.astype(numpy.int64), dtype)


def bits_as(numbers: Numbers, x: ndarray, dtype: str, other: str) -> Elements:
    """Reinterpret the bits of elements as elements of another type. Vectors are split along the last dimension."""
    source, target = stored(dtype), stored(other)
    array = numpy.ascontiguousarray(numpy.asarray(x).astype(source, copy=False))
    row = array.reshape(numpy.shape(x) or (1,))
    if width(dtype) == 8 * source.itemsize and width(other) == 8 * target.itemsize:
        elements: Elements = row.view(target)
    else:
        elements = _from_bits(_bits_of(row, width(dtype)), other)
        elements = (
            elements
            if is_float(other)
            else wrapped(elements.view(numpy.uint8) if target.itemsize == 1 else elements, other)
        )
    return numbers.held(elements if numpy.ndim(x) else elements.reshape(()), other)[()]


def _bits_of(array: ndarray, count: int) -> ndarray:
    """Return the bits along the last dimension, the lowest bit first."""
    split = numpy.unpackbits(array.view(numpy.uint8).reshape(*array.shape, -1), axis=-1, bitorder="little")
    return split[..., :count].reshape(*array.shape[:-1], -1)


def _from_bits(bits: ndarray, dtype: str) -> ndarray:
    count, held = width(dtype), stored(dtype)
    parts = bits.reshape(*bits.shape[:-1], -1, count)
    room = numpy.zeros((*parts.shape[:-1], 8 * held.itemsize), numpy.uint8)
    room[..., :count] = parts
    return numpy.packbits(room, axis=-1, bitorder="little").view(held)[..., 0]
