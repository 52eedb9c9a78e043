# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write bindings/upstream_passes.json: every pass and pipeline of the MLIR wheel with its options.

MLIR's Python bindings can parse a pass by name but cannot list passes, and the wheel's opt tool registers other passes
than the bindings do. This script therefore reads the registry in the memory of its own process. The symbol table of the
wheel's library gives the registry's address, and the data there are checked (`LayoutError`) before use. Usage: python
tools/dev/gen_upstream_passes.py [--check]
"""

from __future__ import annotations

import ctypes
import json
import mmap
import re
import struct
import sys
from importlib import metadata
from pathlib import Path

from generated import main
from relax_mlir.bindings import mlir

OUTPUT = Path(__file__).parents[2] / "bindings" / "upstream_passes.json"

# Static variables of MLIR's Pass library, each a lazily created map from name to PassInfo or PassPipelineInfo.
_REGISTRIES = {"_ZL12passRegistry": False, "_ZL20passPipelineRegistry": True}
# An exported function: the difference between its address in the file and in memory is the same for all symbols.
_ANCHOR = "mlirContextCreate"

# Both infos: name, description (std::string), builder, option handler (std::function), 32 bytes each.
_DESCRIPTION, _OPTION_HANDLER, _INFO_SIZE = 32, 96, 128
# PassOptions stores its options in a vector<OptionBase *>. OptionBase's fifth virtual function returns the llvm::cl
# option, which starts with a virtual table pointer and flags, then name and help (StringRef).
_OPTIONS_VECTOR, _GET_OPTION_SLOT, _OPTION_NAME, _OPTION_HELP = 160, 4, 16, 32

_OPTION_NAME_PATTERN = re.compile(r"[A-Za-z][\w.-]*")


class LayoutError(Exception):
    """Unexpected memory layout of the wheel: adapt the offsets above."""


def symbol_addresses(library: Path, wanted: set[str]) -> dict[str, int]:
    """Return the addresses of symbols, including local ones, from the symbol table of a 64-bit ELF file."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:6] != b"\x7fELF\x02\x01":
            raise LayoutError(f"{library} is not a 64-bit little-endian ELF file")
        (section_headers,) = struct.unpack_from("<Q", data, 0x28)
        entry_size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [
            struct.unpack_from("<IIQQQQIIQQ", data, section_headers + index * entry_size) for index in range(count)
        ]
        table = next((section for section in sections if section[1] == 2), None)  # SHT_SYMTAB
        if table is None:
            raise LayoutError(f"{library} has no symbol table")
        names = sections[table[6]]
        offsets = {_offset_of_name(data, name, names[4], names[5]): name for name in wanted}
        symbols = struct.iter_unpack("<IBBHQQ", data[table[4] : table[4] + table[5]])
        return {offsets[symbol[0]]: symbol[4] for symbol in symbols if symbol[0] in offsets}


def _offset_of_name(data: mmap.mmap, name: str, start: int, size: int) -> int:
    found = data.find(b"\0" + name.encode() + b"\0", start, start + size)
    if found < 0:
        raise LayoutError(f"no symbol {name}")
    return found + 1 - start


def read_words(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}Q", ctypes.string_at(address, 8 * count))


def read_text(address: int) -> str:
    """Return the text that a pointer and a length describe: a StringRef, or the beginning of a std::string."""
    text, length = read_words(address, 2)
    if length > 10_000:
        raise LayoutError(f"a text of {length} bytes")
    return ctypes.string_at(text, length).decode()


def registered_infos(managed_map: int) -> dict[str, int]:
    """Return the entries of a `ManagedStatic<StringMap<Info>>`: name -> address of the info."""
    (string_map,) = read_words(managed_map, 1)
    (table,) = read_words(string_map, 1)
    buckets, count, item_size = struct.unpack("<3I", ctypes.string_at(string_map + 8, 12))
    if item_size != 8 + _INFO_SIZE or not count <= buckets <= 65536:
        raise LayoutError(f"a registry of {count} items of {item_size} bytes in {buckets} buckets")
    infos = {}
    for item in filter(None, read_words(table, buckets)):
        (key_length,) = read_words(item, 1)
        key = ctypes.string_at(item + item_size, key_length).decode()
        infos[key] = item + 8
        if read_text(item + 8) != key:
            raise LayoutError(f"the registry's entry {key!r} holds another name")
    if len(infos) != count:
        raise LayoutError(f"the registry counts {count} entries, {len(infos)} were found")
    return infos


def options_of(info: int) -> dict[str, str]:
    """Return the description of each option of a pass or pipeline by name, in the order of their declaration."""
    handler = info + _OPTION_HANDLER
    _manager, invoke = read_words(handler + 16, 2)
    if not invoke:
        return {}
    texts: list[tuple[str, str]] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def visit(_callable: int, options: int) -> None:
        # An exception cannot cross the C++ frames below: collect only, check later.
        begin, end, capacity = read_words(options + _OPTIONS_VECTOR, 3)
        if begin <= end <= capacity and end - begin <= 8 * 256:
            for option in map(_cl_option, read_words(begin, (end - begin) // 8)):
                texts.append((read_text(option + _OPTION_NAME), read_text(option + _OPTION_HELP)))

    function_ref = (ctypes.c_uint64 * 2)(ctypes.cast(visit, ctypes.c_void_p).value or 0, 0)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(invoke)(handler, ctypes.addressof(function_ref))
    for name, _ in texts:
        if not _OPTION_NAME_PATTERN.fullmatch(name):
            raise LayoutError(f"an option named {name!r}")
    return dict(texts)


def _cl_option(option_base: int) -> int:
    (virtual_table,) = read_words(option_base, 1)
    get_option = read_words(virtual_table, _GET_OPTION_SLOT + 1)[_GET_OPTION_SLOT]
    return ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(get_option)(option_base)


def default_values(name: str, options: dict[str, str]) -> dict[str, str]:
    """Return the defaults as MLIR prints them: `any(name{a=1 b=x})`. Empty lists are not printed."""
    with mlir.ir.Context():
        printed = str(mlir.passmanager.PassManager.parse(f"any({name})"))
    body = re.fullmatch(rf"any\({re.escape(name)}(?:\{{(.*)\}})?\)", printed, re.DOTALL)
    if body is None:
        raise LayoutError(f"{name} prints as {printed}")
    # A value can contain spaces, braces and equal signs: only the known names separate values.
    starts = re.compile(rf"(?:^|(?<=\s))({'|'.join(map(re.escape, options)) or '(?!)'})=")
    text = body[1] or ""
    pieces = starts.split(text)[1:]  # name, value, name, value, ...
    return dict(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=True))


def inventory() -> dict[str, object]:
    (library,) = (mlir.wheel_folder() / "_mlir_libs").glob("lib*AggregateCAPI.so")
    addresses = symbol_addresses(library, {_ANCHOR, *_REGISTRIES})
    anchor = ctypes.cast(getattr(ctypes.CDLL(str(library)), _ANCHOR), ctypes.c_void_p).value or 0
    loaded_at = anchor - addresses[_ANCHOR]
    passes = {
        name: describe(name, info, is_pipeline)
        for symbol, is_pipeline in _REGISTRIES.items()
        for name, info in registered_infos(loaded_at + addresses[symbol]).items()
    }
    return {"wheel": wheel_version(), "passes": dict(sorted(passes.items()))}


def describe(name: str, info: int, is_pipeline: bool) -> dict[str, object]:
    options = options_of(info)
    defaults = {} if is_pipeline else default_values(name, options)
    return {
        "description": one_line(read_text(info + _DESCRIPTION)),
        "pipeline": is_pipeline,
        "options": [
            {"name": option, "default": defaults.get(option), "description": one_line(description)}
            for option, description in options.items()
        ],
    }


def one_line(text: str) -> str:
    return " ".join(text.split())


def wheel_version() -> str:
    distribution = metadata.packages_distributions()[mlir.ROOT][0]
    return f"{distribution} {metadata.version(distribution)}"


if __name__ == "__main__":
    sys.exit(main("Write bindings/upstream_passes.json.", lambda: {OUTPUT: json.dumps(inventory(), indent=1) + "\n"}))
