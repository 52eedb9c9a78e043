# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Portable artifacts without what jax writes of shardings: attributes of a dialect, sdy, that the bindings do not have.

MLIR's bytecode says for each attribute how many bytes it takes, and whether they are the dialect's own or text. Those
of sdy become text of the same length, a string that nobody reads: one flag and their bytes change, nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator

_MAGIC = b"ML\xefR"
_STRINGS, _DIALECTS, _ATTRIBUTES, _OFFSETS = range(4)
_DIALECT = b"sdy"
_SHORTEST = 3


class _BytecodeReader:
    """Numbers of a variable length, from a place on."""

    def __init__(self, data: bytes, start: int = 0) -> None:
        self._data, self.place = data, start

    def byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def number(self) -> int:
        """As many bytes as the first one has zeros at its end, and one more."""
        first = self.byte()
        if first == 0:
            self.place += 8
            return int.from_bytes(self._data[self.place - 8 : self.place], "little")
        count = (first & -first).bit_length()
        whole = self._data[self.place - 1 : self.place - 1 + count]
        self.place += count - 1
        return int.from_bytes(whole, "little") >> count

    def sections(self) -> Iterator[tuple[int, int, int]]:
        """Of each section its number, and where it begins and ends."""
        while self.place < len(self._data):
            head, length = self.byte(), self.number()
            if head & 0x80:
                alignment = self.number()
                self.place += -self.place % alignment
            yield head & 0x7F, self.place, self.place + length
            self.place += length


def without_shardings(data: bytes) -> bytes:
    """The artifact, or itself where it has none, or is not as expected: reading it says what is wrong then."""
    try:
        return _without(data)
    except (IndexError, ValueError, KeyError):
        return data


def _without(data: bytes) -> bytes:
    reader = _BytecodeReader(data, len(_MAGIC))
    reader.number()  # the version
    reader.place = data.index(b"\0", reader.place) + 1
    sections = {number: (start, end) for number, start, end in reader.sections()}
    names = _dialects(data, sections)
    if _DIALECT not in names:
        return data
    changed = bytearray(data)
    place = sections[_ATTRIBUTES][0]
    for at, size, number, is_own in _attributes(data, sections):
        if is_own and names[number] == _DIALECT and size >= _SHORTEST:
            # The lowest bit of the number, which stands above the bits that tell its length.
            count = (changed[at] & -changed[at]).bit_length()
            changed[at] &= ~(1 << count) & 0xFF
            changed[place : place + size] = b'"' + b"-" * (size - _SHORTEST) + b'"\0'
        place += size
    return bytes(changed)


def _dialects(data: bytes, sections: dict[int, tuple[int, int]]) -> list[bytes]:
    """Their names, by their numbers."""
    strings = _strings(data, *sections[_STRINGS])
    reader = _BytecodeReader(data, sections[_DIALECTS][0])
    names = []
    for _ in range(reader.number()):
        name = reader.number()
        names.append(strings[name >> 1])
        if name & 1:  # a version: a section of its own
            _, _, end = next(reader.sections())
            reader.place = end
    return names


def _strings(data: bytes, start: int, end: int) -> list[bytes]:
    """The lengths come first, the last one's in front."""
    reader = _BytecodeReader(data, start)
    lengths = [reader.number() for _ in range(reader.number())]
    found = []
    for length in lengths:
        found.append(data[end - length : end - 1])
        end -= length
    return found[::-1]


def _attributes(data: bytes, sections: dict[int, tuple[int, int]]) -> Iterator[tuple[int, int, int, bool]]:
    """Of each attribute where its entry stands, how many bytes it takes, its dialect's number, and whether these are
    that dialect's own.
    """
    reader = _BytecodeReader(data, sections[_OFFSETS][0])
    left, _ = reader.number(), reader.number()
    while left > 0:
        dialect, count = reader.number(), reader.number()
        for _ in range(count):
            at, entry = reader.place, reader.number()
            yield at, entry >> 1, dialect, bool(entry & 1)
        left -= count
