# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removal of jax's sharding attributes from portable artifacts. The bindings do not have their dialect, sdy.

MLIR's bytecode states for each attribute its number of bytes, and whether its encoding is the dialect's own or text.
Attributes of sdy become text of the same length, an unused string: one flag and the bytes change, and no offset moves.
"""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir.frontends.core.bytecode import ATTRIBUTES, OFFSETS, BytecodeReader, dialects_in, sections_of

_DIALECT = b"sdy"
_SHORTEST = 3


def without_shardings(data: bytes) -> bytes:
    """Return the artifact without shardings.

    An unexpected artifact is returned unchanged, and its reader reports the error.
    """
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
            # The lowest bit of the number, above the bits that encode its length.
            count = (changed[at] & -changed[at]).bit_length()
            changed[at] &= ~(1 << count) & 0xFF
            changed[place : place + size] = b'"' + b"-" * (size - _SHORTEST) + b'"\0'
        place += size
    return bytes(changed)


def _attributes(data: bytes, sections: dict[int, tuple[int, int]]) -> Iterator[tuple[int, int, int, bool]]:
    """Yield the position, the size, the dialect number and the kind of encoding of each attribute.

    The last item is True if the encoding is the dialect's own.
    """
    reader = BytecodeReader(data, sections[OFFSETS][0])
    left, _ = reader.number(), reader.number()
    while left > 0:
        dialect, count = reader.number(), reader.number()
        for _ in range(count):
            at, entry = reader.place, reader.number()
            yield at, entry >> 1, dialect, bool(entry & 1)
        left -= count
