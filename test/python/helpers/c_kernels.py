# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar operations in a loop over two arrays, as MLIR, to compare target c with target llvm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from c_programs import CProgram

import relax_mlir as rx


def type_text(type_: str) -> str:
    """Return the type of a value in memory. Types that C lacks are stored in the next larger type."""
    if type_ == "index":
        return "i64"
    bits = int(type_.removeprefix("i")) if type_.startswith("i") else 0
    return next((f"i{wide}" for wide in (8, 16, 32, 64) if wide >= bits), type_) if bits else type_


def loaded(value: str, memory: str, type_: str) -> str:
    held = type_text(type_)
    load = f"%{value}_held = memref.load %{memory}[%i] : memref<?x{held}>\n"
    if type_ == "index":
        return load + f"%{value} = arith.index_cast %{value}_held : {held} to index\n"
    if held != type_:
        return load + f"%{value} = arith.trunci %{value}_held : {held} to {type_}\n"
    return load.replace(f"{value}_held", value)


def stored(value: str, memory: str, type_: str) -> str:
    held = type_text(type_)
    if type_ == "index":
        made = f"%{value}_kept = arith.index_cast %{value} : index to {held}\n"
    elif held != type_:
        made = f"%{value}_kept = arith.extsi %{value} : {type_} to {held}\n"
    else:
        return f"memref.store %{value}, %{memory}[%i] : memref<?x{held}>\n"
    return made + f"memref.store %{value}_kept, %{memory}[%i] : memref<?x{held}>\n"


class Kernel:
    """Kernel on arrays x and y of one type, with an output array for each of its lines."""

    def __init__(self, type_: str, lines: Mapping[str, tuple[str, str]], before: str = "") -> None:
        """Build the kernel. `lines` maps names to operations that define %name from %a and %b, and its type."""
        self.names = list(lines)
        results = ", ".join(f"%out_{name}: memref<?x{type_text(made)}>" for name, (_, made) in lines.items())
        types = ", ".join(f'tensor<?x{type_text(made)}, #relax.sym<["n"]>>' for _, made in lines.values())
        body = "".join(text + "\n" + stored(name, f"out_{name}", made) for name, (text, made) in lines.items())
        held = type_text(type_)
        array = f'tensor<?x{held}, #relax.sym<["n"]>>'
        count = len(lines)
        returned = ", ".join(f"%r#{place}" for place in range(count)) if count > 1 else "%r"
        self.module = rx.Module.parse(f"""
func.func private @kernel(%x: memref<?x{held}>, %y: memref<?x{held}>, {results}) attributes {{tir.prim_func}} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?x{held}>
  {before}
  scf.for %i = %zero to %n step %one {{
    {loaded("a", "x", type_)}
    {loaded("b", "y", type_)}
    {body}
  }}
  return
}}
func.func @main(%x: {array}, %y: {array}) -> ({types}) {{
  %r{f":{count}" if count > 1 else ""} = "relax.call_tir"(%x, %y) {{func = @kernel}} : ({array}, {array}) -> ({types})
  return {returned} : {types}
}}
""")
        self.program = CProgram(self.module)

    def __call__(self, x: Any, y: Any) -> dict[str, Any]:
        return dict(zip(self.names, self.program(x, y), strict=True))

    def on_llvm(self, x: Any, y: Any) -> dict[str, Any]:
        return dict(zip(self.names, self.program.expected(x, y), strict=True))


def constant(name: str, value: int, type_: str) -> str:
    text = ("true" if value else "false") if type_ == "i1" else f"{value} : {type_}"
    return f"%{name} = arith.constant {text}"


def pairs(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return all pairs of values."""
    return [x for x in values for _ in values], [y for _ in values for y in values]
