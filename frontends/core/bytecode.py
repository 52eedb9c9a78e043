# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What MLIR's bytecode says of itself, read without MLIR: its sections and dialects."""

from __future__ import annotations

from collections.abc import Iterator

MAGIC = b"ML\xefR"
#: The numbers of sections.
STRINGS, DIALECTS, ATTRIBUTES, OFFSETS = range(4)


class BytecodeReader:
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
                self.place += -self.place % max(self.number(), 1)
            yield head & 0x7F, self.place, self.place + length
            self.place += length


def sections_of(data: bytes) -> dict[int, tuple[int, int]]:
    """Where each section begins and ends. Raises IndexError or ValueError where that cannot be read."""
    reader = BytecodeReader(data, len(MAGIC))
    reader.number()  # the version
    reader.place = data.index(b"\0", reader.place) + 1
    return {number: (start, end) for number, start, end in reader.sections()}


def dialects_in(data: bytes, sections: dict[int, tuple[int, int]]) -> list[bytes]:
    """Their names, by their numbers. Raises IndexError, KeyError or ValueError where they cannot be read."""
    strings = _strings(data, *sections[STRINGS])
    reader = BytecodeReader(data, sections[DIALECTS][0])
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
    reader = BytecodeReader(data, start)
    lengths = [reader.number() for _ in range(reader.number())]
    found = []
    for length in lengths:
        found.append(data[end - length : end - 1])
        end -= length
    return found[::-1]
