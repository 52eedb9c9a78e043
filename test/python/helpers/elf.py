# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of an object file: its machine, and its defined and undefined symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_SYMBOL_TABLE = 2
_UNDEFINED = 0


@dataclass(frozen=True)
class ObjectFile:
    """Relocatable ELF file of 64 bits, little-endian."""

    machine: int
    flags: int
    defined: frozenset[str]
    undefined: frozenset[str]


def read_object(data: bytes) -> ObjectFile:
    assert data[:6] == b"\x7fELF\x02\x01"
    kind, machine = struct.unpack_from("<HH", data, 16)
    assert kind == 1  # relocatable
    (section_headers,) = struct.unpack_from("<Q", data, 40)
    (flags,) = struct.unpack_from("<I", data, 48)
    entry_size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, section_headers + index * entry_size) for index in range(count)]
    (table,) = [section for section in sections if section[1] == _SYMBOL_TABLE]
    names = sections[table[6]][4]
    defined, undefined = set(), set()
    for symbol in struct.iter_unpack("<IBBHQQ", data[table[4] : table[4] + table[5]]):
        start = names + symbol[0]
        name = data[start : data.index(b"\0", start)].decode()
        is_local = symbol[1] >> 4 == 0
        if name and not is_local:
            (undefined if symbol[3] == _UNDEFINED else defined).add(name)
    return ObjectFile(machine, flags, frozenset(defined), frozenset(undefined))
