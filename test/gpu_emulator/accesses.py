# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions that read and write memory, and atomics."""

from __future__ import annotations

from .coder import DTYPES, Coder, emits, unknown, value_kind
from .ptx import WIDTHS, Instruction

_SPACES = ("global", "shared", "local", "const", "param")
_ORDERED = ("relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")


def space_of(instruction: Instruction) -> str:
    for part in instruction.parts[1:]:
        name = part.split("::")[0]
        if name in _SPACES:
            if part == "shared::cluster":
                raise unknown(instruction)
            return "global" if name == "const" else name
    return "generic"


@emits("ld", "ldu")
def _load(coder: Coder, instruction: Instruction) -> None:
    kind, space = value_kind(instruction), space_of(instruction)
    targets = coder.elements(instruction.operands[0])
    if len(instruction.operands) > 2:
        raise unknown(instruction)
    if space == "param":
        _load_parameter(coder, instruction, kind, targets)
        return
    address = coder.address(instruction.operands[1])
    plain = f"u{8 * WIDTHS[kind]}" if kind[0] not in "s" else kind
    ordered = any(part in _ORDERED for part in instruction.parts)
    values = coder.temporary(
        f"m.load({space!r}, {address}, {DTYPES[plain]}, {len(targets)}, {ordered}, {instruction.line})"
    )
    for number, target in enumerate(targets):
        coder.set(target, plain, f"{values}[{number}]")


def parameter_name(operand: str) -> tuple[str, int]:
    name, _, offset = operand.strip("[] ").partition("+")
    return name.strip(), int(offset or "0")


def _load_parameter(coder: Coder, instruction: Instruction, kind: str, targets: list[str]) -> None:
    name, offset = parameter_name(instruction.operands[1])
    width = WIDTHS[kind]
    plain = f"u{8 * width}" if kind[0] != "s" else kind
    for number, target in enumerate(targets):
        at = offset + number * width
        inner = f"{name}+{at}"
        if coder.is_register(inner):
            coder.set(target, plain, coder.use(inner, plain))
        else:
            coder.set(target, plain, f"m.parameter({name!r}, {at}, {DTYPES[plain]}, {instruction.line})")


@emits("st")
def _store(coder: Coder, instruction: Instruction) -> None:
    kind, space = value_kind(instruction), space_of(instruction)
    plain = f"u{8 * WIDTHS[kind]}"
    values = coder.elements(instruction.operands[1])
    if space == "param":
        name, offset = parameter_name(instruction.operands[0])
        for number, value in enumerate(values):
            coder.set(f"{name}+{offset + number * WIDTHS[kind]}", plain, _stored(coder, value, kind))
        return
    address = coder.address(instruction.operands[0])
    given = ", ".join(_stored(coder, value, kind) for value in values)
    ordered = any(part in _ORDERED for part in instruction.parts)
    coder.emit(f"m.store({space!r}, {address}, ({given},), {ordered}, {instruction.line})")


def _stored(coder: Coder, value: str, kind: str) -> str:
    """Return the stored bits. A float immediate has the width of its text if the type is bits."""
    if not coder.is_register(value) and value[:2].lower() in ("0f", "0d"):
        return f"{coder.use(value, {2: 'f16', 4: 'f32', 8: 'f64'}[WIDTHS[kind]])}.view(U{WIDTHS[kind]})"
    return coder.use(value, f"u{8 * WIDTHS[kind]}")


@emits("atom", "red")
def _atomic(coder: Coder, instruction: Instruction) -> None:
    kind, parts = value_kind(instruction), instruction.parts
    operands = list(instruction.operands)
    target = operands.pop(0) if parts[0] == "atom" else "_"
    names = ("add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec")
    name = next((part for part in parts[1:] if part in names), None)
    if name is None or operands[0].startswith("{") or operands[1].startswith("{"):
        raise unknown(instruction)
    address = coder.address(operands[0])
    values = ", ".join(coder.use(each, kind) for each in operands[1:])
    call = f"m.atomics.run({space_of(instruction)!r}, {name!r}, {kind!r}, {address}, ({values},), {instruction.line})"
    coder.set(target, kind, call)


@emits("fence", "membar", "prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "griddepcontrol", "pmevent")
def _nothing(coder: Coder, instruction: Instruction) -> None:
    """Ignore an instruction about ordering or caching: the emulator executes instructions in order."""


@emits("fence.proxy.async")
def _show(coder: Coder, instruction: Instruction) -> None:
    coder.emit("m.show()")


@emits("trap", "brkpt")
def _trap(coder: Coder, instruction: Instruction) -> None:
    coder.emit(f"m.trap({instruction.line})")


@emits("cp.async")
def _copy_async(coder: Coder, instruction: Instruction) -> None:
    parts = instruction.parts
    line = instruction.line
    if parts[2] == "commit_group":
        coder.emit("m.copies.commit()")
    elif parts[2] == "wait_group":
        coder.emit(f"m.copies.wait({coder.literal(instruction.operands[0])}, {line})")
    elif parts[2] == "wait_all":
        coder.emit(f"m.copies.wait(-1, {line})")
    elif parts[2] in ("ca", "cg"):
        to, source, size, *rest = instruction.operands
        bytes_ = coder.literal(size)
        if bytes_ not in ((16,) if parts[2] == "cg" else (4, 8, 16)) or any("cache_hint" in part for part in parts):
            raise unknown(instruction)
        given = coder.use(rest[0], "u32") if rest else "None"
        coder.emit(f"m.copies.start({coder.address(to)}, {coder.address(source)}, {bytes_}, {given}, {line})")
    else:
        raise unknown(instruction)
