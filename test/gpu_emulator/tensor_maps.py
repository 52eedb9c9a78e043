# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor maps: these 128 bytes are opaque on a device, and a readable structure here."""

from __future__ import annotations

import struct
from typing import NamedTuple

BYTES = 128
_MAGIC = b"emulated"
_LAYOUT = struct.Struct("<8sIIQ5Q5Q5H")
MOST_AXES = 5


class TensorMap(NamedTuple):
    element: int  # bytes
    address: int
    sizes: tuple[int, ...]  # the innermost first
    strides: tuple[int, ...]  # bytes
    box: tuple[int, ...]


def read_map(data: bytes) -> TensorMap | None:
    """Return a map, or None if the bytes are no map."""
    magic, element, rank, address, *numbers = _LAYOUT.unpack_from(data.ljust(BYTES, b"\0"))
    if magic != _MAGIC:
        return None
    sizes, strides, box = (tuple(numbers[start : start + rank]) for start in (0, 5, 10))
    return TensorMap(element, address, sizes, strides, box)


def write_map(map_: TensorMap) -> bytes:
    filled = [[*each, *[0] * (MOST_AXES - len(each))] for each in map_[2:]]
    numbers = (number for each in filled for number in each)
    return _LAYOUT.pack(_MAGIC, map_.element, len(map_.sizes), map_.address, *numbers).ljust(BYTES, b"\0")
