# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of an object file or program: its machine, and its defined and undefined symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_SYMBOL_TABLE = 2
_UNDEFINED = 0


@dataclass(frozen=True)
class ObjectFile:
    """ELF file of 64 bits, little-endian. Defined symbols have addresses."""

    machine: int
    flags: int
    defined: dict[str, int]
    undefined: frozenset[str]


def read_object(data: bytes, expected_kind: int = 1) -> ObjectFile:
    assert data[:6] == b"\x7fELF\x02\x01"
    kind, machine = struct.unpack_from("<HH", data, 16)
    assert kind == expected_kind  # 1: relocatable, 2: executable
    (section_headers,) = struct.unpack_from("<Q", data, 40)
    (flags,) = struct.unpack_from("<I", data, 48)
    entry_size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, section_headers + index * entry_size) for index in range(count)]
    (table,) = [section for section in sections if section[1] == _SYMBOL_TABLE]
    names = sections[table[6]][4]
    symbols = {}
    for symbol in struct.iter_unpack("<IBBHQQ", data[table[4] : table[4] + table[5]]):
        start = names + symbol[0]
        name = data[start : data.index(b"\0", start)].decode()
        if name and symbol[1] >> 4:  # no local symbol
            symbols[name] = symbol[3:5]
    defined = {name: address for name, (section, address) in symbols.items() if section != _UNDEFINED}
    return ObjectFile(machine, flags, defined, frozenset(symbols.keys() - defined.keys()))
