# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Semantics of integer instructions, on numpy arrays of any fixed-width dtype."""

from __future__ import annotations

from typing import Any

import numpy

Array = Any

#: Where shared and local memory lie among generic addresses.
WINDOWS = {"shared": 0x0000_7A00_0000_0000, "local": 0x0000_7B00_0000_0000, "param": 0x0000_7900_0000_0000}
WINDOW_BYTES = 1 << 32


def in_space(address: Array, space: str) -> Array:
    def inside(name: str) -> Array:
        return (address >= numpy.uint64(WINDOWS[name])) & (address < numpy.uint64(WINDOWS[name] + WINDOW_BYTES))

    if space in WINDOWS:
        return inside(space)
    return ~(inside("shared") | inside("local"))


def _like(array: Array, value: int) -> Array:
    return numpy.array([value], array.dtype)


def _unsigned(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def _bits(array: Array) -> int:
    return 8 * int(array.dtype.itemsize)


def saturated(a: Array, b: Array, minus: bool) -> Array:
    wide_a, wide_b = a.astype(numpy.int64), b.astype(numpy.int64)
    limits = numpy.iinfo(a.dtype)
    return numpy.clip(wide_a - wide_b if minus else wide_a + wide_b, limits.min, limits.max).astype(a.dtype)


def add_carry(a: Array, b: Array, carry: Array, minus: bool) -> tuple[Array, Array]:
    """Return the sum or difference, and the carry or borrow."""
    x, y, one = _unsigned(a), _unsigned(b), carry.astype(_unsigned(a).dtype)
    if minus:
        first = x - y
        result, out = first - one, (x < y) | (first < one)
    else:
        first = x + y
        result = first + one
        out = (first < x) | (result < first)
    return result.view(a.dtype), out


def high_product(a: Array, b: Array) -> Array:
    width = _bits(a)
    if width <= 32:
        wide = numpy.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
        return ((a.astype(wide) * b.astype(wide)) >> _like(numpy.empty(0, wide), width)).astype(a.dtype)
    x, y = a.view(numpy.uint64), b.view(numpy.uint64)
    low, half = numpy.array([0xFFFFFFFF], numpy.uint64), numpy.array([32], numpy.uint64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - numpy.where(a < 0, y, y & ~y) - numpy.where(b < 0, x, x & ~x)
    return high.view(a.dtype)


def quotient(a: Array, b: Array) -> Array:
    """Divide with truncation. A division by zero gives all bits set."""
    safe: Array = numpy.where(b == 0, _like(b, 1), b)
    if a.dtype.kind == "u":
        found = a // safe
    else:
        x, y = _magnitude(a), _magnitude(safe)
        size = (x // y).view(a.dtype)
        found = numpy.where((a < 0) != (safe < 0), -size, size)
    return numpy.where(b == 0, ~_like(a, 0), found)


def remainder(a: Array, b: Array) -> Array:
    return numpy.where(b == 0, a, a - quotient(a, b) * b)


def _magnitude(a: Array) -> Array:
    return numpy.where(a < 0, -a, a).view(f"u{a.dtype.itemsize}")


def shift(a: Array, count: Array, left: bool) -> Array:
    width = _bits(a)
    amount = numpy.minimum(count, numpy.uint32(width - 1)).astype(a.dtype)
    if not left and a.dtype.kind == "i":
        return a >> amount
    moved = a << amount if left else a >> amount
    return numpy.where(count >= width, _like(a, 0), moved)


def funnel(low: Array, high: Array, count: Array, left: bool, clamp: bool) -> Array:
    amount = numpy.minimum(count, numpy.uint32(32)) if clamp else count & numpy.uint32(31)
    both = (high.astype(numpy.uint64) << numpy.uint64(32)) | low.astype(numpy.uint64)
    wide = amount.astype(numpy.uint64)
    if left:
        return ((both << wide) >> numpy.uint64(32)).astype(numpy.uint32)
    return (both >> wide).astype(numpy.uint32)


def extract(a: Array, position: Array, length: Array) -> Array:
    width = _bits(a)
    start, size = (each & numpy.uint32(255) for each in (position, length))
    unsigned = _unsigned(a)
    moved = _unsigned(shift(a, start, False))  # copies of the sign come in from above
    mask = shift(_like(unsigned, 1), size, True) - _like(unsigned, 1)
    mask = numpy.where(size >= width, ~_like(unsigned, 0), mask)
    found = moved & mask
    if a.dtype.kind == "u":
        return found
    last = numpy.minimum(start + size - numpy.uint32(1), numpy.uint32(width - 1))
    negative = (shift(unsigned, last, False) & _like(unsigned, 1)) != 0
    return numpy.where(negative & (size > 0), found | ~mask, found).view(a.dtype)


def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
    start, size = (each & numpy.uint32(255) for each in (position, length))
    mask = shift(_like(a, 1), size, True) - _like(a, 1)
    mask = numpy.where(size >= _bits(a), ~_like(a, 0), mask)
    mask = shift(mask, start, True)
    return (shift(a, start, True) & mask) | (b & ~mask)


def population(a: Array) -> Array:
    pieces = a.view(numpy.uint8).reshape(len(a), -1)
    return numpy.unpackbits(pieces, axis=1).sum(axis=1, dtype=numpy.uint32)


def leading_zeros(a: Array) -> Array:
    unsigned, width = _unsigned(a), _bits(a)
    found: Array = numpy.full(len(a), width, numpy.uint32)
    for bit in range(width):
        found[(unsigned >> _like(unsigned, bit)) != 0] = width - 1 - bit
    return found


def find(a: Array, shifts: bool) -> Array:
    value = numpy.where(a < 0, ~a, a) if a.dtype.kind == "i" else a
    zeros = leading_zeros(value)
    none = zeros == _bits(a)
    found = zeros if shifts else numpy.uint32(_bits(a) - 1) - zeros
    return numpy.where(none, numpy.uint32(0xFFFFFFFF), found)


def reverse(a: Array) -> Array:
    pieces = numpy.unpackbits(a.view(numpy.uint8).reshape(len(a), -1), axis=1, bitorder="little")[:, ::-1]
    return numpy.packbits(pieces, axis=1, bitorder="little").reshape(-1).view(a.dtype)


def distance(a: Array, b: Array) -> Array:
    return numpy.where(a < b, b - a, a - b)


def logic(a: Array, b: Array, c: Array, table: Array) -> Array:
    number = int(table[0])
    found = _like(a, 0)
    for row in range(8):
        if number >> row & 1:
            found = found | ((a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c))
    return found


def permute(a: Array, b: Array, selector: Array) -> Array:
    both = (b.astype(numpy.uint64) << numpy.uint64(32)) | a.astype(numpy.uint64)
    found = _like(a, 0)
    for place in range(4):
        choice = (selector >> numpy.uint32(4 * place)) & numpy.uint32(15)
        amount = ((choice & numpy.uint32(7)) * numpy.uint32(8)).astype(numpy.uint64)
        byte = ((both >> amount) & numpy.uint64(255)).astype(numpy.uint32)
        signed = numpy.where(byte >= 128, numpy.uint32(255), numpy.uint32(0))
        found = found | (numpy.where(choice >= 8, signed, byte) << numpy.uint32(8 * place))
    return found


def dot4(a: Array, b: Array, c: Array) -> Array:
    x = a.view(f"{a.dtype.kind}1").reshape(-1, 4).astype(numpy.int64)
    y = b.view(f"{b.dtype.kind}1").reshape(-1, 4).astype(numpy.int64)
    return ((x * y).sum(axis=1) + c.astype(numpy.int64)).astype(c.dtype)


def join(dtype: Any, *pieces: Array) -> Array:
    """Join pieces, the lowest first."""
    found = pieces[0].astype(dtype)
    for number, piece in enumerate(pieces[1:], 1):
        amount = numpy.array([8 * piece.dtype.itemsize * number], dtype)
        found = found | (piece.astype(dtype) << amount)
    return found


def split(a: Array, dtype: Any) -> list[Array]:
    pieces = a.view(dtype).reshape(len(a), -1)
    return [numpy.ascontiguousarray(pieces[:, number]) for number in range(pieces.shape[1])]


def clamped(a: Array, dtype: Any) -> Array:
    """Saturate to another integer type."""
    limits, own = numpy.iinfo(dtype), numpy.iinfo(a.dtype)
    low, high = max(int(limits.min), int(own.min)), min(int(limits.max), int(own.max))
    return numpy.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(dtype)
