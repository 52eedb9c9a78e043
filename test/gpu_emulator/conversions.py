# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cvt between integers and floating-point numbers of all widths."""

from __future__ import annotations

from .coder import DTYPES, Coder, emits, unknown
from .floats import narrow, wide
from .ptx import WIDTHS, Instruction

_TO_INTEGER = ("rni", "rzi", "rmi", "rpi")
_FLOATS = ("f16", "bf16", "f32", "f64")


@emits("cvt")
def _convert(coder: Coder, instruction: Instruction) -> None:
    parts = instruction.parts
    kinds = [part for part in parts if part in WIDTHS]
    if len(kinds) != 2:
        raise unknown(instruction)
    to, source = kinds
    mode = next((part for part in parts if part in ("rn", "rna", "rz", "rm", "rp")), "rn")
    integral = next((part for part in parts if part in _TO_INTEGER), None)
    target, *values = instruction.operands
    if to in ("f16x2", "bf16x2") and source == "f32":
        _pair(coder, instruction, to, mode)
        return
    if len(values) != 1:
        raise unknown(instruction)
    value = values[0]
    if source not in _FLOATS and to not in _FLOATS:
        _between_integers(coder, instruction, to, source)
        return
    if to == "tf32":
        coder.set(target, to, f"rounding.tf32({coder.use(value, source)}, {mode!r})")
        return
    number = wide(coder, value, source) if source in ("f16", "bf16") else coder.use(value, source)
    if "ftz" in parts and source == "f32":
        number = f"rounding.flush({number})"
    if to not in _FLOATS:
        coder.set(target, to, f"rounding.to_integer({number}, {DTYPES[to]}, {(integral or 'rzi')!r})")
        return
    if integral is not None:
        number = f"rounding.round_to_integer({number}, {integral!r})"
    found = _rounded(number, to, source, mode)
    if "sat" in parts:
        found = f"rounding.saturate({found})"
    if "relu" in parts:
        found = f"rounding.greatest({found}, {coder.constant(0, DTYPES[to])}, True)"
    if "ftz" in parts and to == "f32":
        found = f"rounding.flush({found})"
    coder.set(target, to, found)


def _rounded(number: str, to: str, source: str, mode: str) -> str:
    if to == "f64":
        return f"({number}).astype(F8)"
    if to == "f32":
        if source in _FLOATS:
            return f"rounding.to_f4({number}, {mode!r})" if source == "f64" else f"({number}).astype(F4)"
        return f"rounding.to_f4(rounding.from_integer({number}), {mode!r})"
    if source not in _FLOATS:
        number = f"rounding.from_integer({number})"
    return narrow(to, number, mode)


def _between_integers(coder: Coder, instruction: Instruction, to: str, source: str) -> None:
    target, value = instruction.operands
    dtype = DTYPES[to]
    number = coder.use(value, source)
    if "sat" in instruction.parts:
        coder.set(target, to, f"bits.clamped({number}, {dtype})")
    else:
        coder.set(target, to, f"{number}.astype({dtype})")


def _pair(coder: Coder, instruction: Instruction, to: str, mode: str) -> None:
    """Pack two operands, the first into the upper half."""
    target, upper, lower = instruction.operands
    if mode not in ("rn", "rz"):
        raise unknown(instruction)
    halves = []
    for operand in (lower, upper):
        number = coder.use(operand, "f32")
        if "relu" in instruction.parts:
            number = f"rounding.greatest({number}, {coder.constant(0, 'F4')}, True)"
        halves.append(f"({narrow(to[:-2], number, mode)}).view(U2)")
    coder.set(target, to, f"bits.join(U4, {', '.join(halves)})")
