# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Header of a GGUF file: metadata, and the places of tensors. Each number is checked against the size of the file.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, NamedTuple

import gguf
import numpy
import relax_mlir as rx

if TYPE_CHECKING:
    from numpy import ndarray

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
#: Types of metadata without the texts (8) and the arrays (9), as codes of the module struct.
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
#: Limits far above existing files. A text needs about 60 bytes of memory, so damaged numbers must not ask for more.
_MOST_TEXTS, _MOST_DIMENSIONS = 1 << 21, 4
_KEY_BYTES = 1 << 16
_DEFAULT_ALIGNMENT, _LEAST_ALIGNMENT, _MOST_ALIGNMENT = 32, 8, 1 << 16


class DamageError(ValueError):
    """Contradiction between a header and its file. The message continues "it has N bytes, and"."""


class TensorInFile(NamedTuple):
    """Place of a tensor in a file."""

    #: GGUF's name of the type, such as F32 or Q4_K.
    type: str
    #: Sizes from the outermost to the innermost.
    shape: tuple[int, ...]
    #: Bytes from the begin of the data of all tensors.
    offset: int
    nbytes: int


class Header(NamedTuple):
    """Metadata and tensors of a file."""

    metadata: dict[str, object]
    tensors: dict[str, TensorInFile]
    #: First byte of the data of all tensors.
    begin: int


def read_header(path: str, data: ndarray) -> Header:
    """Return the header of a file with these bytes. Raise DamageError if the header does not describe the file."""
    cursor = _Cursor(data.data)
    if bytes(cursor.take(len(_MAGIC))) != _MAGIC:
        raise DamageError(f"it begins with {bytes(data[:4])!r}, expected {_MAGIC!r}")
    if (version := cursor.number("I")) not in _VERSIONS:
        kind = "the order of bytes of other machines" if version & 0xFFFF == 0 else f"version {version}"
        raise rx.RefusalError(
            f"{path} has {kind}, expected version {' or '.join(map(str, _VERSIONS))} in little-endian order: convert "
            "the model again with a newer llama.cpp"
        )
    tensor_count, count = cursor.number("Q"), cursor.number("Q")
    metadata: dict[str, object] = {}
    for _ in range(count):
        if not (key := cursor.text(_KEY_BYTES)) or key in metadata:
            raise DamageError(f"its metadata have the key '{key}' twice" if key else "its metadata have an empty key")
        metadata[key] = cursor.value(cursor.number("I"))
    tensors: dict[str, TensorInFile] = {}
    for _ in range(tensor_count):
        if not (name := cursor.text(_KEY_BYTES)) or name in tensors:
            raise DamageError(f"its header has the tensor '{name}' twice" if name else "a tensor has no name")
        tensors[name] = _place(path, name, cursor)
    alignment = _alignment(metadata)
    begin = _round_up(cursor.position, alignment)
    _check_layout(tensors, alignment, begin, len(data))
    return Header(metadata, tensors, begin)


class _Cursor:
    """Position in the header of a file."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.position = 0
        self._texts = 0

    def take(self, count: int) -> memoryview:
        """Return the next bytes."""
        if (end := self.position + count) > len(self._data):
            raise DamageError(f"its header needs {end:,} bytes")
        found = self._data[self.position : end]
        self.position = end
        return found

    def number(self, code: str) -> int:
        """Return the next number. The code is one of the module struct."""
        (found,) = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))
        return found

    def text(self, most: int | None = None) -> str:
        """Return the next text. Bytes that are no UTF-8 become surrogates."""
        length = self.number("Q")
        if most is not None and length >= most:
            raise DamageError(f"a name in its header has {length:,} bytes, expected less than {most:,}")
        return str(self.take(length), "utf-8", "surrogateescape")

    def value(self, kind: int) -> object:
        """Return the next value of the metadata. An array of numbers is a view of the file."""
        if kind == _TEXT:
            return self.text()
        if kind == _ARRAY:
            return self._array(self.number("I"), self.number("Q"))
        if (code := _CODES.get(kind)) is None:
            raise DamageError(f"its metadata have a value of the unknown type {kind}")
        return self.number(code)

    def _array(self, kind: int, count: int) -> object:
        if kind == _TEXT:
            self._texts += count
            if self._texts > _MOST_TEXTS:
                raise DamageError(f"its metadata have {self._texts:,} texts, expected at most {_MOST_TEXTS:,}")
            return [self.text() for _ in range(count)]
        if (code := _CODES.get(kind)) is None:
            raise DamageError(f"its metadata have an array of the unknown type {kind}")
        element = numpy.dtype(f"<{code}")
        return numpy.frombuffer(self.take(count * element.itemsize), element)


def _place(path: str, name: str, cursor: _Cursor) -> TensorInFile:
    """Return the place of the next tensor in a header."""
    rank = cursor.number("I")
    if not 1 <= rank <= _MOST_DIMENSIONS:
        raise DamageError(f"its tensor '{name}' has {rank} dimensions, expected 1 to {_MOST_DIMENSIONS}")
    # GGUF has the sizes from the innermost to the outermost.
    shape = tuple(cursor.number("Q") for _ in range(rank))[::-1]
    number, offset = cursor.number("I"), cursor.number("Q")
    try:
        kind = gguf.GGMLQuantizationType(number)
    except ValueError:
        known = ", ".join(str(int(each)) for each in sorted(gguf.GGMLQuantizationType))
        raise rx.ModelError(
            f"{path} has a tensor of the unknown type {number}: the installed package gguf knows the types {known}; "
            "install a newer gguf, or convert the file to another type, such as Q4_K_M"
        ) from None
    numbers, nbytes = gguf.GGML_QUANT_SIZES[kind]
    if min(shape) < 1 or shape[-1] % numbers:
        raise DamageError(
            f"its tensor '{name}' of type {kind.name} has the shape {shape}, expected rows of whole blocks of {numbers}"
        )
    return TensorInFile(kind.name, shape, offset, math.prod(shape) // numbers * nbytes)


def _alignment(metadata: dict[str, object]) -> int:
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    is_power = type(alignment) is int and alignment & (alignment - 1) == 0
    if not is_power or not _LEAST_ALIGNMENT <= alignment <= _MOST_ALIGNMENT:  # type: ignore[operator]
        raise DamageError(
            f"its 'general.alignment' is {alignment!r}, expected a power of two from {_LEAST_ALIGNMENT} to "
            f"{_MOST_ALIGNMENT}"
        )
    return alignment  # type: ignore[return-value]


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _check_layout(tensors: dict[str, TensorInFile], alignment: int, begin: int, size: int) -> None:
    """Raise DamageError unless the tensors fill the file in the order of the header, without gaps, as GGUF demands.

    So a changed type, shape or offset of any tensor is found, even where all bytes are inside of the file.
    """
    end = 0
    for name, place in tensors.items():
        if place.offset != end:
            raise DamageError(f"the data of its tensor '{name}' begin at byte {place.offset:,}, expected {end:,}")
        end = _round_up(end + place.nbytes, alignment)
        if begin + place.offset + place.nbytes > size:
            raise DamageError(f"its header describes {begin + place.offset + place.nbytes:,} bytes or more")
    if tensors and size > begin + end:
        raise DamageError(f"its header describes {begin + end:,} bytes")
