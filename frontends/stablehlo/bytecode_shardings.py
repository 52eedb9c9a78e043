# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Portable artifacts without what jax writes of shardings: attributes of a dialect, sdy, that the bindings do not have.

MLIR's bytecode says for each attribute how many bytes it takes, and whether they are the dialect's own or text. Those
of sdy become text of the same length, a string that nobody reads: one flag and their bytes change, nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.bytecode import ATTRIBUTES, OFFSETS, BytecodeReader, dialects_in, sections_of

_DIALECT = b"sdy"
_SHORTEST = 3


def without_shardings(data: bytes) -> bytes:
    """The artifact, or itself where it has none, or is not as expected: reading it says what is wrong then."""
    try:
        return _without(data)
    except (IndexError, ValueError, KeyError):
        return data


def _without(data: bytes) -> bytes:
    sections = sections_of(data)
    names = dialects_in(data, sections)
    if _DIALECT not in names:
        return data
    changed = bytearray(data)
    place = sections[ATTRIBUTES][0]
    for at, size, number, is_own in _attributes(data, sections):
        if is_own and names[number] == _DIALECT and size >= _SHORTEST:
            # The lowest bit of the number, which stands above the bits that tell its length.
            count = (changed[at] & -changed[at]).bit_length()
            changed[at] &= ~(1 << count) & 0xFF
            changed[place : place + size] = b'"' + b"-" * (size - _SHORTEST) + b'"\0'
        place += size
    return bytes(changed)


def _attributes(data: bytes, sections: dict[int, tuple[int, int]]) -> Iterator[tuple[int, int, int, bool]]:
    """Of each attribute where its entry stands, how many bytes it takes, its dialect's number, and whether these are
    that dialect's own.
    """
    reader = BytecodeReader(data, sections[OFFSETS][0])
    left, _ = reader.number(), reader.number()
    while left > 0:
        dialect, count = reader.number(), reader.number()
        for _ in range(count):
            at, entry = reader.place, reader.number()
            yield at, entry >> 1, dialect, bool(entry & 1)
        left -= count
