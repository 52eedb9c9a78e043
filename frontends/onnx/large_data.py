# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parsing of a model's protobuf without its large tensors, which stay in place in the model's bytes.

protobuf copies every tensor when it parses, and again whenever a tensor is read. So the bytes of large tensors are
replaced by tokens before, and each token represents a view of the model's bytes.
"""

from __future__ import annotations

import functools
import mmap
import os
import stat
from typing import Any, BinaryIO

# Alignment of constants in programs. Constants at other addresses are copied once more when the program is loaded.
_ALIGNMENT = 64
# Copying smaller tensors is cheap.
_LARGE = 4096
# Nesting limit of protobuf itself.
_DEEPEST = 100

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10


class _Malformed(Exception):
    """Raised for bytes that are not a protobuf."""


def take_large_data(data: bytes) -> tuple[bytes, dict[bytes, memoryview]]:
    """Return a model's bytes with tokens instead of the `raw_data` of large tensors, and the data by token.

    Malformed bytes are returned unchanged: protobuf reports the error.
    """
    view = memoryview(data)
    stripped, places = _strip_tensors(view)
    return (stripped, {token: view[start:end] for token, (start, end) in places.items()}) if places else (data, {})


def read_without_large_data(file: BinaryIO, *, is_mapped: bool = False) -> tuple[bytes, dict[bytes, memoryview]]:
    """Read an open file as `take_large_data` does.

    Large tensors are read to aligned addresses, so that programs need no copy. With `is_mapped`, they stay in the
    mapped file at any address, for programs that are written, not run. Raises OSError or ValueError.
    """
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode) or not state.st_size:
        return take_large_data(file.read())
    whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    stripped, places = _strip_tensors(whole)
    if is_mapped:
        return stripped, {token: whole[start:end] for token, (start, end) in places.items()}
    return stripped, {token: _read(file, start, end) for token, (start, end) in places.items()}


def _read(file: BinaryIO, start: int, end: int) -> memoryview:
    import numpy

    memory = numpy.empty(end - start + _ALIGNMENT, "u1")
    first = -memory.ctypes.data % _ALIGNMENT
    view = memory.data[first : first + end - start]
    file.seek(start)
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise ValueError("it became shorter while it was read")
        done += count
    return view.toreadonly()


def _strip_tensors(data: memoryview) -> tuple[bytes, dict[bytes, tuple[int, int]]]:
    """Return the bytes with tokens, and the range of the bytes that each token represents."""
    import onnx

    places: dict[bytes, tuple[int, int]] = {}
    try:
        return _strip(data, 0, onnx.ModelProto.DESCRIPTOR, places, 0), places
    except _Malformed:
        return bytes(data), {}


def _strip(data: memoryview, begin: int, descriptor: object, places: dict[bytes, tuple[int, int]], depth: int) -> bytes:
    """Return a message without its large tensors. `begin` is the offset of the message in the model."""
    if depth > _DEEPEST:
        raise _Malformed
    fields = _fields_with_tensors(descriptor)
    pieces: list[bytes | memoryview] = []
    kept, position = 0, 0
    while position < len(data):
        tag, after_tag = _read_varint(data, position)
        if tag & 7 != _BYTES:
            position = _skip_number(data, after_tag, tag & 7)
            continue
        length, start = _read_varint(data, after_tag)
        if (position := start + length) > len(data):
            raise _Malformed
        if length < _LARGE or tag >> 3 not in fields:
            continue
        if (inner := fields[tag >> 3]) is None:
            replaced = _token(begin + start, begin + position, places)
        else:
            replaced = _strip(data[start:position], begin + start, inner, places, depth + 1)
        pieces += (data[kept:after_tag], _varint(len(replaced)), replaced)
        kept = position
    return b"".join([*pieces, data[kept:]])


@functools.cache
def _fields_with_tensors(descriptor: Any) -> dict[int, object]:
    """Return the fields that may contain large tensors: nested messages by type, and None for a tensor's bytes."""
    if descriptor.name == "TensorProto":
        return {descriptor.fields_by_name["raw_data"].number: None}
    return {field.number: field.message_type for field in descriptor.fields if field.message_type is not None}


def _token(start: int, end: int, places: dict[bytes, tuple[int, int]]) -> bytes:
    """Return a random token, so that no model contains the token as a tensor's own bytes."""
    token = os.urandom(32)
    places[token] = (start, end)
    return token


def _skip_number(data: memoryview, position: int, kind: int) -> int:
    if kind == _VARINT:
        return _read_varint(data, position)[1]
    if kind == _FIXED64:
        return position + 8
    if kind == _FIXED32:
        return position + 4
    raise _Malformed


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    """Return a number and the position behind it."""
    number = 0
    for index, byte in enumerate(data[position : position + _MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, position + index + 1
    raise _Malformed


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
