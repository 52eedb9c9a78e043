# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for CPUs with dot-product instructions on x86-64 CPUs without them.

Calls of the instructions in a lowered module become calls of functions, which follow the manuals element by element.
All other operations on vectors are LLVM's, for vectors of any length. Tiles are emulated by tile_emulation.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import tile_emulation
from relax_mlir.runtime import Executable

import relax_mlir as rx

_CALL = re.compile(
    r'llvm\.call_intrinsic "llvm\.((?:x86|aarch64)\.[\w.]+)"\(([^)]*)\)(?: \{[^}]*\})? : \(([^)]*)\) -> (vector<\w+>)'
)
_VECTOR = re.compile(r"vector<(\d+)x(\w+)>")


class _Kind(NamedTuple):
    """Widening of the left and right factors, and saturation of sums of 16 bits."""

    left: str
    right: str
    saturates: bool = False


_KINDS = {
    "x86.avx512.vpdpbusd": _Kind("zext", "sext"),
    "x86.avx2.vpdpbssd": _Kind("sext", "sext"),
    "x86.avx2.vpdpbuud": _Kind("zext", "zext"),
    "x86.avx512bf16.dpbf16ps": _Kind("fpext", "fpext"),
    "x86.avx512.pmaddw.d": _Kind("sext", "sext"),
    "x86.avx512.pmaddubs.w": _Kind("zext", "sext", saturates=True),
    "aarch64.neon.sdot": _Kind("sext", "sext"),
    "aarch64.neon.udot": _Kind("zext", "zext"),
    "aarch64.neon.usdot": _Kind("zext", "sext"),
    "aarch64.neon.bfdot": _Kind("fpext", "fpext"),
}
#: Instructions of 256 bits or less that each CPU of x86-64-v3 has.
_NATIVE = ("x86.sse", "x86.ssse3", "x86.avx2.pmadd", "x86.fma")


def _kind(name: str) -> _Kind | None:
    return next((kind for prefix, kind in _KINDS.items() if name.startswith(prefix)), None)


def _shape(type_: str) -> tuple[int, str]:
    found = _VECTOR.fullmatch(type_)
    assert found is not None, type_
    return int(found[1]), found[2]


def _definition(name: str, kind: _Kind, types: list[str], result: str) -> str:
    """Return the function of an instruction: for each lane of the result, the sum of its group of products."""
    *total, left, right = types
    (lanes, element), (count, _) = _shape(result), _shape(left)
    wide = "i32" if kind.saturates else element
    vector, is_float = f"vector<{lanes}x{wide}>", element.startswith("f")
    multiply, add = ("fmul", "fadd") if is_float else ("mul", "add")
    lines = [f"  %c{number} = llvm.mlir.constant(dense<{number}> : {vector}) : {vector}" for number in (-32768, 32767)
             if kind.saturates]  # fmt: skip
    lines = [line.replace("%c-", "%cn") for line in lines]
    value = "%t" if total else ""
    for place in range(count // lanes):
        order = ", ".join(str(lane) for lane in range(place, count, count // lanes))
        for side, type_, widening in (("a", left, kind.left), ("b", right, kind.right)):
            narrow = f"vector<{lanes}x{_shape(type_)[1]}>"
            lines.append(f"  %n{side}{place} = llvm.shufflevector %{side}, %{side} [{order}] : {type_}")
            lines.append(f"  %w{side}{place} = llvm.{widening} %n{side}{place} : {narrow} to {vector}")
        lines.append(f"  %p{place} = llvm.{multiply} %wa{place}, %wb{place} : {vector}")
        if value:
            lines.append(f"  %s{place} = llvm.{add} {value}, %p{place} : {vector}")
        value = f"%s{place}" if value else f"%p{place}"
    if kind.saturates:
        lines.append(f"  %low = llvm.intr.smax({value}, %cn32768) : ({vector}, {vector}) -> {vector}")
        lines.append(f"  %high = llvm.intr.smin(%low, %c32767) : ({vector}, {vector}) -> {vector}")
        lines.append(f"  %cut = llvm.trunc %high : {vector} to {result}")
        value = "%cut"
    parameters = ", ".join(f"%{each}: {type_}" for each, type_ in zip("tab"[-len(types) :], types, strict=True))
    body = "\n".join([*lines, f"  llvm.return {value} : {result}"])
    return f"llvm.func internal @{_symbol(name)}({parameters}) -> {result} {{\n{body}\n}}\n"


def _symbol(name: str) -> str:
    return f"emulated_{name.replace('.', '_')}"


def emulated(lowered: rx.Module) -> rx.Module:
    """Return a module in the LLVM dialect without dot products and tiles."""
    definitions: dict[str, str] = {}

    def replaced(found: re.Match[str]) -> str:
        name, operands, types, result = found.groups()
        kind = _kind(name)
        if kind is None:
            return found[0]
        definitions[name] = _definition(name, kind, types.split(", "), result)
        return f"llvm.call @{_symbol(name)}({operands}) : ({types}) -> {result}"

    text = _CALL.sub(replaced, str(lowered))
    if not definitions and "x86_amx" not in text:
        return lowered
    head, brace, rest = text.partition("module {" if "module {" in text else "} {")
    changed = rx.Module.parse(f"{head}{brace}\n{''.join(definitions.values())}{rest}")
    return tile_emulation.emulated(changed)[0] if "x86_amx" in text else changed


def foreign_intrinsics(module: rx.Module) -> set[str]:
    """Return the names of a lowered module's intrinsics that this machine may lack."""
    names = set(re.findall(r'llvm\.call_intrinsic "llvm\.((?:x86|aarch64)\.[\w.]+)"', str(module)))
    return {name for name in names if not name.startswith(_NATIVE)}


def compiled(module: rx.Module, target: str, opt_level: int = 2, **how: Any) -> Executable:
    """Compile a module for another CPU, and run its vectors and loops on this one."""
    lowered = emulated(rx.lower(module, target, opt_level=opt_level, **how))
    missing = foreign_intrinsics(lowered)
    assert not missing, f"no emulation of {', '.join(sorted(missing))}"
    stages = rx.stages("llvm").only("to-llvm")
    return rx.compile(lowered, "llvm", pipeline=stages, opt_level=opt_level, jobs=1, cache=False)


def instructions(lowered: rx.Module) -> Iterable[str]:
    """Return the names of a lowered module's instructions that are emulated."""
    return {found[1] for found in _CALL.finditer(str(lowered)) if _kind(found[1]) is not None}
