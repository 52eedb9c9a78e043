# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large tensors stay in place in a model's bytes: the protobuf is parsed without them.

protobuf copies every tensor when it parses, and once more whenever one is read. So the bytes of large tensors are
replaced by tokens before, and a token stands for a view of the model's bytes.
"""

from __future__ import annotations

import functools
import mmap
import os
import stat
from typing import Any, BinaryIO

# Where a program wants its constants; at other addresses they are copied once more when it is loaded.
_ALIGNMENT = 64
# Smaller tensors are not worth it.
_LARGE = 4096
# As protobuf itself has it.
_DEEPEST = 100

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10


class _Malformed(Exception):
    """Bytes that are no protobuf."""


def take_large_data(data: bytes) -> tuple[bytes, dict[bytes, memoryview]]:
    """A model's bytes with tokens in the place of large tensors' `raw_data`, and what the tokens stand for.

    Malformed bytes come back as they are: protobuf says what is wrong with them.
    """
    view = memoryview(data)
    stripped, places = _taken_apart(view)
    return (stripped, {token: view[start:end] for token, (start, end) in places.items()}) if places else (data, {})


def read_without_large_data(file: BinaryIO, *, is_mapped: bool = False) -> tuple[bytes, dict[bytes, memoryview]]:
    """As `take_large_data`, of an open file: large tensors come to addresses at which programs take them as they are.

    Mapped ones stay in the file instead, wherever they are in it: for programs that are written, not run.
    Raises OSError or ValueError.
    """
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode) or not state.st_size:
        return take_large_data(file.read())
    whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    stripped, places = _taken_apart(whole)
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


def _taken_apart(data: memoryview) -> tuple[bytes, dict[bytes, tuple[int, int]]]:
    """The bytes with tokens, and the range in them that each stands for."""
    import onnx

    places: dict[bytes, tuple[int, int]] = {}
    try:
        return _stripped(data, 0, onnx.ModelProto.DESCRIPTOR, places, 0), places
    except _Malformed:
        return bytes(data), {}


def _stripped(
    data: memoryview, begin: int, descriptor: object, places: dict[bytes, tuple[int, int]], depth: int
) -> bytes:
    """A message without its large tensors. `begin` is where it stands in the model."""
    if depth > _DEEPEST:
        raise _Malformed
    fields = _fields_with_tensors(descriptor)
    pieces: list[bytes | memoryview] = []
    kept, position = 0, 0
    while position < len(data):
        tag, after_tag = _read_varint(data, position)
        if tag & 7 != _BYTES:
            position = _behind_number(data, after_tag, tag & 7)
            continue
        length, start = _read_varint(data, after_tag)
        position = start + length
        if position > len(data):
            raise _Malformed
        if length < _LARGE or tag >> 3 not in fields:
            continue
        inner = fields[tag >> 3]
        if inner is None:
            replaced = _token(begin + start, begin + position, places)
        else:
            replaced = _stripped(data[start:position], begin + start, inner, places, depth + 1)
        pieces += (data[kept:after_tag], _varint(len(replaced)), replaced)
        kept = position
    return b"".join([*pieces, data[kept:]])


@functools.cache
def _fields_with_tensors(descriptor: Any) -> dict[int, object]:
    """The fields that may hold large tensors: messages by their type, and None for a tensor's bytes."""
    if descriptor.name == "TensorProto":
        return {descriptor.fields_by_name["raw_data"].number: None}
    return {field.number: field.message_type for field in descriptor.fields if field.message_type is not None}


def _token(start: int, end: int, places: dict[bytes, tuple[int, int]]) -> bytes:
    """A random one, so that no model has it as a tensor's own bytes."""
    token = os.urandom(32)
    places[token] = (start, end)
    return token


def _behind_number(data: memoryview, position: int, kind: int) -> int:
    if kind == _VARINT:
        return _read_varint(data, position)[1]
    if kind == _FIXED64:
        return position + 8
    if kind == _FIXED32:
        return position + 4
    raise _Malformed


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    """A number and where it ends."""
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
