# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entry functions with tvm-ffi's calling convention, which check the arguments and call the C functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.targets.host.abi import EXPORT_PREFIX, dlpack_dtype

from .expressions import of_size
from .interface import Interface, InterfaceArgument

#: Functions of ffi.c that a program may not need.
_OPTIONAL = ("take_tensor", "data_of", "check_size", "take_integer", "take_number")


def entries_file(name: str, part: str, interfaces: Sequence[Interface]) -> str:
    """Return the file of entry functions, with the symbols `__tvm_ffi_<part>.<function>`."""
    _, _, support = Path(__file__).with_name("ffi.c").read_text(encoding="utf-8").partition("*/\n\n")
    entries = [
        _entry(name, f"{part}.{interface.label}" if part else interface.label, interface) for interface in interfaces
    ]
    used = "\n".join(entries)
    chunks = [chunk.rstrip() for chunk in support.split("\n\n") if not _is_needless(chunk, used)]
    includes = "\n".join(f"#include <{text}.h>" for text in ("stdint", "stdio", "string"))
    return "\n\n".join([f'#include "{name}.h"', includes, *chunks, *entries]) + "\n"


def _is_needless(chunk: str, used: str) -> bool:
    return any(f" {name}(" in chunk or f"*{name}(" in chunk for name in _OPTIONAL if f"{name}(" not in used)


def _entry(name: str, symbol: str, interface: Interface) -> str:
    """Return an entry function. The first occurrence of a size defines it; all others are compared with it."""
    arguments = [*interface.inputs, *interface.results]
    chosen = f"entry_of_{interface.name}"
    taken = "void *self, const Any *args, int32_t count, Any *result"
    lines = [f"    const Tensor *tensor{place};" for place, each in enumerate(arguments) if each.is_tensor]
    lines += [f"    {_scalar(each)} number{place};" for place, each in enumerate(arguments) if not each.is_tensor]
    lines += [f"    int64_t {size.name};" for size in interface.sizes]
    lines.append("    int status;")
    lines.append("    (void)self;")
    lines += _write_check(f'check_count(count, {len(arguments)}, "{interface.label}")')
    for place, argument in enumerate(arguments):
        lines += _write_check(_take(interface, place, argument))
    lines += _sizes(interface, arguments)
    passed = [size.name for size in interface.sizes] + [_pass(place, each) for place, each in enumerate(arguments)]
    lines.append(f"    status = {interface.name}({', '.join(passed)});")
    lines += ["    if (status != 0) {", f"        return fail({name}_message(status), {name}_numbers);", "    }"]
    lines += ["    result->kind = 0;", "    result->padding = 0;", "    result->value.integer = 0;", "    return 0;"]
    head = f'int {chosen}({taken}) __asm__("{EXPORT_PREFIX}{symbol}");'
    return "\n".join([head, f"int {chosen}({taken}) {{", *lines, "}"])


def _write_check(call: str) -> list[str]:
    return [f"    if ({call} != 0) {{", "        return -1;", "    }"]


def _scalar(argument: InterfaceArgument) -> str:
    return "double" if argument.c_type == "double" else "int64_t"


def _take(interface: Interface, place: int, argument: InterfaceArgument) -> str:
    label = f'"{interface.label}: {_plain(argument.label)}"'
    if not isinstance(argument.info, TensorInfo):
        function = "take_number" if argument.c_type == "double" else "take_integer"
        return f"{function}(&args[{place}], {label}, &number{place})"
    dtype = dlpack_dtype(argument.info.dtype)
    code, bits = dtype & 255, dtype >> 8 & 255
    return f"take_tensor(&args[{place}], {label}, {code}, {bits}, {len(argument.sizes)}, &tensor{place})"


def _sizes(interface: Interface, arguments: Sequence[InterfaceArgument]) -> list[str]:
    known: set[str] = set()
    passed = {each.name for each in interface.sizes}
    compared: list[str] = []
    lines = []
    for place, argument in enumerate(arguments):
        if not argument.is_tensor:
            value = getattr(argument.info, "value", None)
            if value is not None and str(value) in passed - known:
                known.add(str(value))
                lines.append(f"    {value} = number{place};")
        for axis, size in enumerate(argument.sizes):
            if (text := of_size(size).text) in passed - known:
                known.add(text)
                lines.append(f"    {text} = tensor{place}->sizes[{axis}];")
                continue
            label = f'"{interface.label}: dimension {axis} of {_plain(argument.label)}:"'
            compared += _write_check(f"check_size(tensor{place}, {label}, {axis}, {text})")
    return [*lines, *compared]


def _pass(place: int, argument: InterfaceArgument) -> str:
    if argument.is_tensor:
        const = "" if argument.is_written else "const "
        return f"({const}{argument.c_type} *)data_of(tensor{place})"
    return f"number{place} != 0" if argument.c_type == "bool" else f"number{place}"


def _plain(text: str) -> str:
    """Return the text with characters that are safe in printf formats and C strings."""
    return "".join(each if each.isalnum() and each.isascii() else "_" for each in text)
