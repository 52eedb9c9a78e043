# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of a kernel's PTX: calls are inlined, and each basic block becomes a Python function."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy

from . import accesses, bits, bulk_instructions, conversions, cooperation, floats, integers, rounding
from .coder import NUMPY, Coder, emitter, unknown
from .ptx import WIDTHS, Function, Instruction, PtxError, Unit, Variable

FAMILIES = (accesses, bulk_instructions, conversions, cooperation, floats, integers)
_JUMPS = ("bra", "brx", "ret", "exit")

#: Names as the parser and inlining make them unique.
_UNIQUE = re.compile(r"(?<![\w.$%@#])[$%A-Za-z_][\w$@#]*")


@dataclass
class Block:
    line: int
    text: str
    run: Callable[[Any], tuple[Any, int, int]]
    members: str | None = None  # the operand with the lanes that have to be here together
    member_register: int | None = None
    member_mask: int = 0xFFFFFFFF
    waits: tuple[Callable[[Any], Any], ...] | None = None  # functions for address and parity of an mbarrier


@dataclass
class Program:
    """Executable kernel: a thread starts at block 0 and ends at block `len(blocks)`."""

    name: str
    function: Function
    blocks: list[Block]
    zeros: list[Any]  # of each register
    shared: dict[str, int] = field(default_factory=dict)  # offsets
    shared_sizes: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    dynamic: list[str] = field(default_factory=list)  # variables without a size, which all lie after the others
    dynamic_align: int = 128
    sums: frozenset[str] = frozenset()  # registers of wgmma's
    copies_boxes: bool = False  # of tensors, by bulk copies
    local: dict[str, int] = field(default_factory=dict)
    local_sizes: dict[str, int] = field(default_factory=dict)
    local_bytes: int = 0
    unit_bytes: int = 8  # no access to memory is narrower
    lines: dict[int, str] = field(default_factory=dict)
    source: str = ""

    def parameter_layout(self) -> list[tuple[int, int]]:
        """Return the offset and the size of each parameter."""
        found, at = [], 0
        for parameter in self.function.parameters:
            at = -(-at // parameter.align) * parameter.align
            found.append((at, parameter.size or 0))
            at += parameter.size or 0
        return found


@dataclass
class _Flat:
    """Function with inlined calls."""

    registers: dict[str, str] = field(default_factory=lambda: {"%cc": "pred"})
    variables: dict[str, Variable] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    body: list[Instruction | str] = field(default_factory=list)
    count: int = 0


def make_program(unit: Unit, name: str) -> Program:
    function = unit.functions[name]
    flat = _Flat()
    _flatten(unit, function, flat, {}, "", (name,))
    _add_parameters(flat)
    body = list(_without_guards(flat.body))
    program = Program(name, function, [], [])
    for variable in [*unit.variables.values(), *flat.variables.values()]:
        _place(program, variable)
    program.lines = {each.line: each.text for each in body if isinstance(each, Instruction)}
    program.unit_bytes = min((_access_bytes(each) for each in body if isinstance(each, Instruction)), default=8)
    instructions = [each for each in body if isinstance(each, Instruction)]
    products = [each for each in instructions if each.parts[:2] == ("wgmma", "mma_async")]
    program.sums = frozenset(name for each in products for name in _held(each))
    program.copies_boxes = any(map(bulk_instructions.copies_boxes, instructions))
    _compile(program, flat, _blocks(body))
    return program


def _held(product: Instruction) -> list[str]:
    """Return the registers that a wgmma uses until the wait: its sums, and a factor in registers."""
    sums, left = product.operands[:2]
    return [*Coder.elements(sums), *(Coder.elements(left) if left.startswith("{") else [])]


def _place(program: Program, variable: Variable) -> None:
    if variable.space == "shared":
        if variable.size is None:
            program.dynamic.append(variable.name)
            program.dynamic_align = max(program.dynamic_align, variable.align)
            return
        at = -(-program.shared_bytes // variable.align) * variable.align
        program.shared[variable.name], program.shared_sizes[variable.name] = at, variable.size
        program.shared_bytes = at + variable.size
    elif variable.space == "local":
        at = -(-program.local_bytes // max(variable.align, 16)) * max(variable.align, 16)
        program.local[variable.name], program.local_sizes[variable.name] = at, variable.size or 0
        program.local_bytes = at + (variable.size or 0)


def _access_bytes(instruction: Instruction) -> int:
    parts = instruction.parts
    if parts[0] in ("ld", "st", "atom", "red") and "param" not in parts and "local" not in parts:
        return min(WIDTHS[part] for part in parts if part in WIDTHS)
    return 4 if parts[:2] == ("cp", "async") and parts[2] != "bulk" else 8


def _flatten(
    unit: Unit, function: Function, flat: _Flat, renamed: dict[str, str], suffix: str, callers: tuple[str, ...]
) -> None:
    own = {*function.registers, *function.variables, *function.tables}
    own |= {each for each in function.body if isinstance(each, str)}
    names = {**{name: name + suffix for name in own}, **renamed}

    def new(text: str) -> str:
        return _UNIQUE.sub(lambda match: names.get(match.group(), match.group()), text) if names else text

    flat.registers.update({names[name]: kind for name, kind in function.registers.items()})
    for variable in function.variables.values():
        flat.variables[names[variable.name]] = Variable(
            variable.space, names[variable.name], variable.align, variable.size
        )
    flat.tables.update({names[name]: tuple(map(new, labels)) for name, labels in function.tables.items()})
    for each in function.body:
        if isinstance(each, str):
            flat.body.append(names[each])
            continue
        operands = tuple(map(new, each.operands))
        here = Instruction(each.name, operands, new(each.guard), each.line, each.text)
        if here.parts[0] == "ret" and suffix:
            flat.body.append(Instruction("bra.uni", (f"$ret{suffix}",), here.guard, here.line, here.text))
        elif here.parts[0] == "call":
            _inline(unit, flat, here, callers)
        else:
            flat.body.append(here)


def _inline(unit: Unit, flat: _Flat, call: Instruction, callers: tuple[str, ...]) -> None:
    operands = list(call.operands)
    results = _listed(operands.pop(0)) if operands[0].startswith("(") else []
    name = operands.pop(0)
    arguments = _listed(operands[0]) if operands else []
    function = unit.functions.get(name)
    if name == "__assertfail":
        flat.body.append(Instruction("trap", (), call.guard, call.line, call.text))
        return
    if function is None or not function.is_defined:
        raise PtxError(f"line {call.line}: {name!r} is called and not defined: {call.text}")
    if name in callers:
        raise PtxError(f"line {call.line}: {name!r} calls itself: the emulator inlines calls")
    if call.guard:
        raise unknown(call)
    flat.count += 1
    suffix = f"#{flat.count}"
    renamed = dict(zip((each.name for each in function.parameters), arguments, strict=True))
    renamed |= dict(zip((each.name for each in function.results), results, strict=True))
    _flatten(unit, function, flat, renamed, suffix, (*callers, name))
    flat.body.append(f"$ret{suffix}")


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.strip("() ").split(",") if each.strip()]


def _add_parameters(flat: _Flat) -> None:
    """Add registers for parameters of calls, by name and offset."""
    for each in flat.body:
        if isinstance(each, Instruction) and each.parts[:2] == ("st", "param"):
            name, offset = accesses.parameter_name(each.operands[0])
            width = WIDTHS[each.parts[-1]]
            for number in range(len(Coder.elements(each.operands[1]))):
                flat.registers[f"{name}+{offset + number * width}"] = f"b{8 * width}"


def _without_guards(body: list[Instruction | str]) -> Iterator[Instruction | str]:
    """Yield instructions with a branch around each guarded one that is no branch itself."""
    count = 0
    for each in body:
        if isinstance(each, str) or not each.guard or each.parts[0] in _JUMPS:
            yield each
            continue
        count += 1
        label = f"$guarded#{count}"
        opposite = each.guard[1:] if each.guard.startswith("!") else f"!{each.guard}"
        yield Instruction("bra", (label,), opposite, each.line, each.text)
        yield Instruction(each.name, each.operands, "", each.line, each.text)
        yield label


@dataclass
class _Piece:
    labels: list[str] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)


def _blocks(body: list[Instruction | str]) -> list[_Piece]:
    pieces = [_Piece()]

    def start() -> None:
        if pieces[-1].instructions:
            pieces.append(_Piece())

    for each in body:
        if isinstance(each, str):
            start()
            pieces[-1].labels.append(each)
            continue
        if cooperation.is_barrier(each) or cooperation.members(each) or bulk_instructions.is_wait(each):
            start()
        if cooperation.is_barrier(each) and "red" in each.parts:
            arrive, result = _halves(each)
            pieces[-1].instructions.append(arrive)
            start()
            pieces[-1].instructions.append(result)
            continue
        pieces[-1].instructions.append(each)
        if each.parts[0] in _JUMPS or cooperation.is_barrier(each):
            start()
    return pieces


def _halves(barrier: Instruction) -> tuple[Instruction, Instruction]:
    """Split a reduction by a barrier into the contribution before the barrier and the result after it."""
    line, text = barrier.line, barrier.text
    result = Instruction("%result." + ".".join(barrier.parts[1:]), barrier.operands[:1], "", line, text)
    return Instruction(barrier.name, barrier.operands[1:], "", line, text), result


def _compile(program: Program, flat: _Flat, pieces: list[_Piece]) -> None:
    numbers = {name: number for number, name in enumerate(flat.registers)}
    labels = {label: number for number, piece in enumerate(pieces) for label in piece.labels}
    constants: dict[str, Any] = {}
    coders, ends, following = [], [], []
    for number, piece in enumerate(pieces):
        coder = Coder(flat.registers, numbers, constants, program.sums)
        end, successors = _code(coder, piece, number, len(pieces), labels, flat.tables)
        coders.append(coder)
        ends.append(end)
        following.append(successors)
    alive = _live_after(coders, following, numbers)
    source = []
    for number, coder in enumerate(coders):
        source.append(f"def block_{number}(m):")
        source += [f"    v{numbers[name]} = m.get({numbers[name]})" for name in coder.read_first]
        source += [f"    {line}" for line in coder.lines]
        kept = [name for name in coder.written if alive[number] >> numbers[name] & 1]
        before = len(coder.lines)
        finished = [(numbers[name], coder.finish(name)) for name in kept]
        source += [f"    {line}" for line in coder.lines[before:]]
        source += [f"    m.put({register}, {value})" for register, value in finished]
        source.append(f"    return {ends[number]}")
    program.source = "\n".join(source)
    space: dict[str, Any] = {"numpy": numpy, "bits": bits, "rounding": rounding, **constants}
    space |= {name: dtype.type for name, dtype in NUMPY.items()}
    exec(compile(program.source, f"<{program.name}>", "exec"), space)
    program.zeros = [
        numpy.zeros(1, bool if kind == "pred" else f"u{max(WIDTHS[kind], 1)}") for kind in flat.registers.values()
    ]
    for number, piece in enumerate(pieces):
        first = piece.instructions[0] if piece.instructions else Instruction("ret", (), "", program.function.line, "}")
        block = Block(first.line, first.text, space[f"block_{number}"], cooperation.members(first))
        if block.members in numbers:
            block.member_register = numbers[block.members]
        elif block.members is not None:
            block.member_mask = int(block.members, 0) & 0xFFFFFFFF
        if bulk_instructions.is_wait(first):
            block.waits = bulk_instructions.waits(first, numbers)
        program.blocks.append(block)


def _code(
    coder: Coder, piece: _Piece, number: int, end: int, labels: dict[str, int], tables: dict[str, tuple[str, ...]]
) -> tuple[str, list[int]]:
    """Emit a basic block. Return the source of its result and its possible successors."""

    def target(instruction: Instruction, label: str) -> int:
        if label not in labels:
            raise PtxError(f"line {instruction.line}: no label {label!r}: {instruction.text}")
        return labels[label]

    following = number + 1
    for each in piece.instructions:
        coder.instruction = each
        name = each.parts[0]
        if name not in _JUMPS:
            try:
                emitter(each)(coder, each)
            # more or fewer operands or words than the instruction has
            except (ValueError, IndexError, KeyError, StopIteration):
                raise unknown(each) from None
            continue
        if name == "brx":
            places = [target(each, label) for label in tables[each.operands[1]]]
            index = coder.use(each.operands[0], "u32")
            return f"numpy.array({places})[{index}], -1, -1", places
        place = target(each, each.operands[0]) if name == "bra" else end
        if not each.guard:
            return f"None, {place}, {place}", [place]
        if each.guard.startswith("!"):
            return f"{coder.use(each.guard[1:], 'pred')}, {following}, {place}", [following, place]
        return f"{coder.use(each.guard, 'pred')}, {place}, {following}", [place, following]
    return f"None, {following}, {following}", [following]


def _live_after(coders: list[Coder], following: list[list[int]], numbers: dict[str, int]) -> list[int]:
    """Return for each basic block the registers, as bits, that are read after it."""
    reads = [sum(1 << numbers[name] for name in coder.read_first) for coder in coders]
    writes = [sum(1 << numbers[name] for name in coder.written) for coder in coders]
    before = [*reads, 0]
    after = [0] * len(coders)
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(coders))):
            after[number] = functools.reduce(int.__or__, (before[each] for each in following[number]), 0)
            new = reads[number] | (after[number] & ~writes[number])
            changed = changed or new != before[number]
            before[number] = new
    return after
