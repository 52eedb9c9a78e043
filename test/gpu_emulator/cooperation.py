# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cooperative instructions of a warp. Instructions with lanes that wait for one another begin a basic block."""

from __future__ import annotations

from .coder import Coder, emits, unknown, value_kind
from .ptx import WIDTHS, Instruction

_ALL = "0xffffffff"


def members(instruction: Instruction) -> str | None:
    """Return the operand with the lanes that wait for one another, or None."""
    parts = instruction.parts
    if parts[0] in ("shfl", "vote", "match", "redux"):
        if "sync" not in parts:
            raise unknown(instruction)
        return instruction.operands[-1]
    if parts[:2] == ("bar", "warp"):
        return instruction.operands[0]
    if parts[0] in ("mma", "ldmatrix", "stmatrix", "movmatrix", "wgmma"):
        return _ALL
    return None


def is_barrier(instruction: Instruction) -> bool:
    return instruction.parts[0] in ("bar", "barrier") and instruction.parts[1] != "warp"


@emits("shfl")
def _shuffle(coder: Coder, instruction: Instruction) -> None:
    mode = instruction.parts[2]
    target, value, lane, clamp, mask = instruction.operands
    both = [each.strip() for each in target.split("|")]
    arguments = ", ".join(coder.use(each, "u32") for each in (value, lane, clamp, mask))
    found = coder.temporary(f"m.warps.shuffle({mode!r}, {arguments}, {instruction.line})")
    coder.set(both[0], "b32", f"{found}[0]")
    if len(both) > 1:
        coder.set(both[1], "pred", f"{found}[1]")


@emits("vote")
def _vote(coder: Coder, instruction: Instruction) -> None:
    mode = next(part for part in instruction.parts[1:] if part in ("all", "any", "uni", "ballot"))
    target, value, mask = instruction.operands
    call = f"m.warps.vote({mode!r}, {coder.use(value, 'pred')}, {coder.use(mask, 'u32')})"
    coder.set(target, "b32" if mode == "ballot" else "pred", call)


@emits("match")
def _match(coder: Coder, instruction: Instruction) -> None:
    kind = value_kind(instruction)
    target, value, mask = instruction.operands
    both = [each.strip() for each in target.split("|")]
    mode = "all" if "all" in instruction.parts else "any"
    found = coder.temporary(f"m.warps.match({mode!r}, {coder.use(value, kind)}, {coder.use(mask, 'u32')})")
    coder.set(both[0], "b32", f"{found}[0]")
    if len(both) > 1:
        coder.set(both[1], "pred", f"{found}[1]")


@emits("redux")
def _reduce(coder: Coder, instruction: Instruction) -> None:
    kind, name = value_kind(instruction), instruction.parts[2]
    target, value, mask = instruction.operands
    coder.set(target, kind, f"m.warps.reduce({name!r}, {coder.use(value, kind)}, {coder.use(mask, 'u32')})")


@emits("bar.warp")
def _warp_barrier(coder: Coder, instruction: Instruction) -> None:
    coder.emit("m.warps.synchronize()")


@emits("activemask")
def _active(coder: Coder, instruction: Instruction) -> None:
    coder.set(instruction.operands[0], "b32", "m.warps.active()")


@emits("bar", "barrier")
def _barrier(coder: Coder, instruction: Instruction) -> None:
    """Emit an arrival.

    The machine releases threads when all have arrived, and a reduction's result is read afterwards.
    """
    parts, operands = instruction.parts, list(instruction.operands)
    if "cluster" in parts:
        raise unknown(instruction)
    value = coder.use(operands.pop(), "pred") if "red" in parts else "None"
    number = coder.use(operands[0], "u32")
    count = coder.use(operands[1], "u32") if len(operands) > 1 else "None"
    aligned = parts[0] == "bar" or "aligned" in parts
    coder.emit(f"m.barriers.arrive({number}, {count}, {value}, {'arrive' in parts}, {aligned}, {instruction.line})")


@emits("%result")
def _reduced(coder: Coder, instruction: Instruction) -> None:
    how = next(part for part in instruction.parts if part in ("popc", "and", "or"))
    coder.set(instruction.operands[0], "u32" if how == "popc" else "pred", f"m.barriers.result({how!r})")


@emits("ldmatrix")
def _load_matrix(coder: Coder, instruction: Instruction) -> None:
    parts = instruction.parts
    targets = coder.elements(instruction.operands[0])
    if (
        "m8n8" not in parts
        or value_kind(instruction) != "b16"
        or int(next(p for p in parts if p[1:] in "124")[1:]) != len(targets)
    ):
        raise unknown(instruction)
    space = "shared" if any(part.startswith("shared") for part in parts) else "generic"
    address = coder.address(instruction.operands[1])
    found = coder.temporary(
        f"m.matrices.load({space!r}, {address}, {len(targets)}, {'trans' in parts}, {instruction.line})"
    )
    for number, target in enumerate(targets):
        coder.set(target, "b32", f"{found}[{number}]")


@emits("stmatrix")
def _store_matrix(coder: Coder, instruction: Instruction) -> None:
    parts = instruction.parts
    values = [coder.use(each, "b32") for each in coder.elements(instruction.operands[1])]
    if "m8n8" not in parts or value_kind(instruction) != "b16":
        raise unknown(instruction)
    address = coder.address(instruction.operands[0])
    coder.emit(f"m.matrices.store({address}, ({', '.join(values)},), {'trans' in parts}, {instruction.line})")


@emits("mma.sync")
def _multiply_matrices(coder: Coder, instruction: Instruction) -> None:
    parts = instruction.parts
    shape = next(
        part
        for part in parts
        if part.startswith("m") and "n" in part and part[1:].replace("n", "").replace("k", "").isdigit()
    )
    kinds = [part for part in parts if part in WIDTHS]
    if len(kinds) != 4 or "row" not in parts or "col" not in parts or "satfinite" in parts:
        raise unknown(instruction)
    targets, *operands = (coder.elements(each) for each in instruction.operands)
    lists = []
    for values, kind in zip(operands, kinds[1:], strict=True):
        dtype = "b32" if kind in ("f16", "bf16", "tf32", "s8", "u8") else kind
        lists.append(f"({', '.join(coder.use(each, dtype) for each in values)},)")
    arguments = f"{shape!r}, {tuple(kinds)!r}, {', '.join(lists)}, {instruction.line}"
    found = coder.temporary(f"m.matrices.multiply({arguments})")
    for number, target in enumerate(targets):
        coder.set(target, "b32" if kinds[0] == "f16" else kinds[0], f"{found}[{number}]")


@emits("wgmma.fence", "wgmma.commit_group")
def _order_groups(coder: Coder, instruction: Instruction) -> None:
    coder.emit(f"m.warp_groups.{'fence' if 'fence' in instruction.parts else 'commit'}()")


@emits("wgmma.wait_group")
def _wait_for_groups(coder: Coder, instruction: Instruction) -> None:
    coder.emit(f"m.warp_groups.wait({coder.literal(instruction.operands[0])})")


@emits("wgmma.mma_async")
def _multiply_by_groups(coder: Coder, instruction: Instruction) -> None:
    targets, left, right, adds, *more = instruction.operands
    shape, *kinds = instruction.parts[4:]
    words = coder.elements(left) if left.startswith("{") else []
    signs, turned = (more[:2], more[2:]) if more else (["1", "1"], ["0"] if words else ["0", "0"])
    if signs != ["1", "1"] or len(turned) != (1 if words else 2) or not set(turned) <= {"0", "1"}:
        raise unknown(instruction)
    registers = coder.elements(targets)
    sums = ", ".join(coder.use(each, kinds[0]) for each in registers)
    given = [coder.use(each, "u32") for each in words] or [coder.use(left, "u64")]
    factors = ", ".join([*given, coder.use(right, "u64")])
    numbers = tuple(coder.number_of(each) for each in registers)
    held = tuple(coder.number_of(each) for each in words)
    transposed = tuple(each == "1" for each in turned)
    found = coder.temporary(
        f"m.warp_groups.multiply({shape!r}, {tuple(kinds)!r}, {transposed}, {numbers}, {held}, ({sums},), "
        f"({factors},), {coder.use(adds, 'pred')}, {instruction.line})"
    )
    for number, target in enumerate(registers):
        coder.set(target, kinds[0], f"{found}[{number}]")
