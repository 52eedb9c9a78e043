# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pieces by kernel: functions of a module, symbols of an object file, kernels of PTX, SPIR-V, WGSL and C text."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

#: A piece of a module or of code: the name of its kernel, and its text or bytes.
Piece = tuple[str, "str | bytes"]

_NESTED = ("builtin.module", "gpu.module", "spirv.module")
_SYMBOL_TABLE, _FUNCTION = 2, 2
_PACKED_SPIRV = b"RSV1"
_PACKED_HEADER = 16
#: A line at the left margin that begins a function: PTX's entries, functions of C, OpenCL and WGSL.
_HEAD = re.compile(r"^[\w.@][^;={}#]*?\b(\w+)\s*\(")


def module_pieces(op: Any, prefix: str = "") -> Iterator[Piece]:
    """Yield the attributes of a module, and the text of each operation in it, without locations."""
    attributes = [op.attributes[index] for index in range(len(op.attributes))]
    yield f"{prefix}(attributes)", "\n".join(f"{each.name} = {each.attr}" for each in attributes)
    for index, view in enumerate(op.regions[0].blocks[0].operations):
        inner = view.operation
        name = prefix + (_symbol(inner) or f"{inner.name} {index}")
        if inner.name in _NESTED:
            yield from module_pieces(inner, f"{name}.")
        else:
            yield name, inner.get_asm(assume_verified=True)


def _symbol(op: Any) -> str:
    return str(op.attributes["sym_name"]).strip('"') if "sym_name" in op.attributes else ""


def object_pieces(data: bytes, index: int) -> Iterator[Piece]:
    """Yield the whole object file, and the code of each function in it if the file is 64-bit ELF."""
    yield f"(object {index})", data
    if data[:6] != b"\x7fELF\x02\x01":
        return
    (headers,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + number * size) for number in range(count)]
    for table in (section for section in sections if section[1] == _SYMBOL_TABLE):
        names = sections[table[6]][4]
        for name, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", data[table[4] : table[4] + table[5]]):
            if info & 15 == _FUNCTION and 0 < section < count:
                text = data[names + name : data.index(b"\0", names + name)].decode()
                start = sections[section][4] + value
                yield text, data[start : start + length]


def device_pieces(form: str, kernels: Sequence[str], data: bytes) -> Iterator[Piece]:
    """Yield the kernels of device code. Packed SPIR-V has one module for each kernel, other code is text."""
    if form == "spirv" and data.startswith(_PACKED_SPIRV):
        yield "(table)", data[: _PACKED_HEADER * (len(kernels) + 1)]
        for number, name in enumerate(kernels, 1):
            offset, length = struct.unpack_from("<II", data, _PACKED_HEADER * number)
            yield name, data[offset : offset + length]
        return
    try:
        yield from text_pieces(data.decode())
    except UnicodeDecodeError:  # a packed table of kernels, then the text
        whole = data.decode("latin-1")
        yield from text_pieces(whole)


def source_pieces(name: str, data: str | bytes) -> Iterator[Piece]:
    """Yield the functions of a source file. A JSON file has a piece for each kernel, and one for each other entry."""
    if isinstance(data, bytes):
        yield name, data
        return
    if not name.endswith(".json"):
        yield from ((f"{name}: {piece}", text) for piece, text in text_pieces(data))
        return
    for key, value in json.loads(data).items():
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        entries = [(f"{key}.{place}", each) for place, each in inner] or [(key, value)]
        for place, each in entries:
            named = each["name"] if isinstance(each, dict) and "name" in each else place
            yield f"{name}: {named}", _shown(each)


def _shown(value: Any) -> str:
    """Return JSON with code as readable lines."""
    return json.dumps(value, indent=1, sort_keys=True).replace("\\n", "\n")


def text_pieces(text: str) -> Iterator[Piece]:
    """Yield what comes before the first function, and each function with the text up to the next one."""
    name, lines = "(head)", list[str]()
    for line in text.splitlines():
        found = _HEAD.match(line)
        if found is not None:
            yield name, "\n".join(lines)
            name, lines = found[1], []
        lines.append(line)
    yield name, "\n".join(lines)


def merged(pieces: Iterator[Piece]) -> dict[str, str | bytes]:
    """Return the pieces by name. Pieces of one name, such as local functions of several objects, get numbers."""
    found: dict[str, str | bytes] = {}
    for name, content in pieces:
        number, unique = 1, name
        while unique in found:
            number, unique = number + 1, f"{name} ({number + 1})"
        found[unique] = content
    return found
