# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sections and dialect names of MLIR bytecode, read without MLIR."""

from __future__ import annotations

from collections.abc import Iterator

MAGIC = b"ML\xefR"
#: Section numbers.
STRINGS, DIALECTS, ATTRIBUTES, OFFSETS = range(4)


class BytecodeReader:
    """Reader of bytes and variable-length numbers from a position on."""

    def __init__(self, data: bytes, start: int = 0) -> None:
        self._data, self.place = data, start

    def byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def number(self) -> int:
        """Read a variable-length number. The trailing zeros of its first byte count the bytes that follow."""
        if (first := self.byte()) == 0:
            self.place += 8
            return int.from_bytes(self._data[self.place - 8 : self.place], "little")
        count = (first & -first).bit_length()
        whole = self._data[self.place - 1 : self.place - 1 + count]
        self.place += count - 1
        return int.from_bytes(whole, "little") >> count

    def sections(self) -> Iterator[tuple[int, int, int]]:
        """Yield the number, start and end of each section."""
        while self.place < len(self._data):
            head, length = self.byte(), self.number()
            if head & 0x80:
                self.place += -self.place % max(self.number(), 1)
            yield head & 0x7F, self.place, self.place + length
            self.place += length


def sections_of(data: bytes) -> dict[int, tuple[int, int]]:
    """Return the start and end of each section. Raise IndexError or ValueError if the data is malformed."""
    reader = BytecodeReader(data, len(MAGIC))
    reader.number()  # Skip the version.
    reader.place = data.index(b"\0", reader.place) + 1
    return {number: (start, end) for number, start, end in reader.sections()}


def dialects_in(data: bytes, sections: dict[int, tuple[int, int]]) -> list[bytes]:
    """Return the dialect names in the order of their numbers.

    Raise IndexError, KeyError or ValueError for malformed data.
    """
    strings = _strings(data, *sections[STRINGS])
    reader = BytecodeReader(data, sections[DIALECTS][0])
    names = []
    for _ in range(reader.number()):
        name = reader.number()
        names.append(strings[name >> 1])
        if name & 1:  # The dialect has a version, in a section of its own.
            _, _, end = next(reader.sections())
            reader.place = end
    return names


def _strings(data: bytes, start: int, end: int) -> list[bytes]:
    """Return the strings of a section. The lengths precede the bytes and are in reverse order."""
    reader = BytecodeReader(data, start)
    lengths = [reader.number() for _ in range(reader.number())]
    found = []
    for length in lengths:
        found.append(data[end - length : end - 1])
        end -= length
    return found[::-1]
