# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers as bits: signed and unsigned, with less than a byte too, and booleans as one sign bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import bit_width, is_unsigned

from .held_values import Elements, stored

if TYPE_CHECKING:
    from numpy import ndarray

_PLAIN = frozenset("i8 i16 i32 i64 index ui8 ui16 ui32 ui64".split())


def is_plain(dtype: str) -> bool:
    """Check whether NumPy's arithmetic is right for the type."""
    return dtype in _PLAIN


def width(dtype: str) -> int:
    """Return the number of bits of an element."""
    return 64 if dtype == "index" else bit_width(dtype)


def signed(x: Elements) -> Elements:
    """Reinterpret as signed integers. True is -1."""
    if x.dtype.kind == "b":
        return -x.astype(numpy.int8)
    if x.dtype.kind == "u":
        return x.view(x.dtype.name[1:])
    if x.dtype.kind == "i":
        return x
    bits = int(x.dtype.name[-1])
    found = x.astype(numpy.int8)
    return numpy.where(found >= 1 << (bits - 1), found - (1 << bits), found).astype(numpy.int8)[()]


def unsigned(x: Elements, dtype: str = "") -> Elements:
    """Reinterpret as unsigned integers. A narrower `dtype` masks the bits beyond its width."""
    if x.dtype.kind == "b":
        found = x.astype(numpy.uint8)
    elif x.dtype.kind in "iu":
        found = x.view(f"u{x.dtype.name.lstrip('u')}")
    else:
        found = (x.astype(numpy.int8) & numpy.int8((1 << int(x.dtype.name[-1])) - 1)).view(numpy.uint8)
    has_more = dtype != "" and width(dtype) < 8 * found.dtype.itemsize
    return found & found.dtype.type((1 << width(dtype)) - 1) if has_more else found


def wrapped(value: Elements, dtype: str) -> Elements:
    """Return the lowest bits of integers as elements of a type."""
    held = stored(dtype)
    value = numpy.asarray(value)
    if is_plain(dtype):
        return value.astype(held)[()]
    bits = width(dtype)
    low = (value & value.dtype.type((1 << bits) - 1)).astype(numpy.int64)
    if held.kind != "b" and not is_unsigned(dtype):
        low = numpy.where(low >= 1 << (bits - 1), low - (1 << bits), low)
    room = low if held.isbuiltin == 1 else low.astype(numpy.int8)
    return room.astype(held)[()]


def modular(
    function: Callable[..., Elements], dtype: str, view: Callable[[Elements], Elements] = signed
) -> Callable[..., Elements]:
    """Adapt a function of integers to elements of a type, seen as signed or unsigned."""
    if is_plain(dtype):
        return lambda *operands: signed(function(*map(view, operands))) if view is unsigned else function(*operands)
    seen = partial(unsigned, dtype=dtype) if view is unsigned else view
    return lambda *operands: wrapped(function(*map(seen, operands)), dtype)


def exact(x: Elements | int) -> ndarray:
    """Return Python integers, which have no width."""
    return numpy.asarray(x).astype(object)


def low_bits(value: ndarray, dtype: str) -> Elements:
    """Return the lowest bits of Python integers as elements of a type."""
    low = numpy.asarray(value & ((1 << width(dtype)) - 1), object).astype(numpy.uint64)
    return wrapped(low, dtype)
