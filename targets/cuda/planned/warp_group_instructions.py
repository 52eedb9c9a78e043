# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma: what a group of four warps multiplies from shared memory while it goes on.

As text for the assembler, not by operations of nvvm: sums stay in the registers that they are in until the group has
waited, so all that touches them, from the fence to the wait, is one piece which nothing is moved into.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Type, Value
from ....bindings.mlir import ir
from ....emit.arithmetic import result_of
from ....emit.numbers import Number, as_i64, operation

#: Elements are in lines of this many bytes; the pieces of a line are swizzled by its number modulo LINES.
LINE_BYTES, LINES = 128, 8
_ROWS = 64
#: Addresses and distances count 16 bytes; what is turned in lines of 128 bytes is of kind 1 (bits 62 and 63).
_UNIT, _TURNED = 16, 1 << 62
_NEXT_SIDE, _NEXT_LINES = 16, 32


class Factor(NamedTuple):
    """An input in shared memory."""

    #: PTX's name of its elements.
    type: str
    #: Where lines go along its own side, the bytes from 128 bytes of that to the next ones; unused otherwise.
    next_side: int
    #: Whether lines go along its own side, not along the reduction.
    is_turned: bool

    def advance(self, step: int, steps: int) -> int:
        """From the first step of a block to a later instruction's, by the steps of each."""
        return step * (steps * LINE_BYTES if self.is_turned else LINE_BYTES // 4) // _UNIT

    def rows_apart(self) -> int:
        """From 64 rows to the next ones."""
        return self.next_side // _UNIT if self.is_turned else rows_apart(_ROWS)


def rows_apart(rows: int) -> int:
    """From a line to that `rows` further on."""
    return rows * LINE_BYTES // _UNIT


def descriptor(memory: Value, stage: Number, line: Number, factor: Factor) -> Value:
    """Where an instruction finds a stage of an input from a line on, and its layout."""
    index = ir.IndexType.get()
    base = operation("memref.extract_aligned_pointer_as_index", [memory], index)
    _, lines, _ = memory.type.shape
    address = as_i64(((stage * lines + line) * LINE_BYTES + base).value)
    kind = _TURNED | factor.next_side // _UNIT << _NEXT_SIDE | LINES * LINE_BYTES // _UNIT << _NEXT_LINES
    return ((address >> 4) + kind).value


def show_to_groups() -> None:
    """What the thread has written to shared memory, wgmma sees behind the next barrier."""
    assembly("fence.proxy.async.shared::cta;", [], [])


def wait_for_groups(sums: Sequence[Value]) -> list[Value]:
    """The sums when all that was asked for is in them."""
    return assembly("wgmma.wait_group.sync.aligned 0;", sums, [])


def add_group_products(
    factors: tuple[Factor, Factor],
    descriptors: tuple[Value, Value],
    sums: Sequence[Value],
    columns: int,
    groups: int,
    steps: int,
    pending: int,
) -> list[Value]:
    """Asks for a block's products to be added: four times `steps` steps, for `groups` groups of 64 rows.

    Goes on when no more than `pending` blocks are under way, of which the sums are used by nothing else.
    """
    left, right = factors
    total = "f32" if isinstance(sums[0].type, ir.FloatType) else "s32"
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{steps}.{total}.{left.type}.{right.type}"
    # Factors of either sign as they are; and which are across lines, which bytes never are.
    more = f", 1, 1, {int(left.is_turned)}, {int(right.is_turned)}" if total == "f32" else ""
    count = len(sums) // groups
    first, second = (f"${2 * len(sums) + which}" for which in range(2))
    lines = [".reg .pred adds; .reg .b64 left, right;", "setp.eq.s32 adds, 0, 0;", "wgmma.fence.sync.aligned;"]
    for group in range(groups):
        registers = ", ".join(f"${place}" for place in range(group * count, (group + 1) * count))
        for step in range(4):
            lines += [
                f"add.s64 left, {first}, {group * left.rows_apart() + left.advance(step, steps)};",
                f"add.s64 right, {second}, {right.advance(step, steps)};",
                f"{name} {{{registers}}}, left, right, adds{more};",
            ]
    lines += ["wgmma.commit_group.sync.aligned;", f"wgmma.wait_group.sync.aligned {pending};"]
    return assembly("\n\t".join(["{", *lines, "}"]), sums, descriptors)


def assembly(text: str, changed: Sequence[Value], given: Sequence[Value], made: Sequence[Type] = ()) -> list[Value]:
    """Instructions that change values where they are, make new ones, and read others.

    In the text these are `$0` and so on: what is changed, what is made, once more what is changed, what is read.
    """
    types = [*(each.type for each in changed), *made]
    outputs = [f"={_kind(type_)}" for type_ in types[: len(changed)]]
    outputs += [f"=&{_kind(type_)}" for type_ in made]
    inputs = [*map(str, range(len(changed))), *(_kind(each.type) for each in given)]
    parts = [*outputs, *inputs, "~{memory}"]
    attributes = {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(",".join(parts)),
        "has_side_effects": ir.UnitAttr.get(),
    }
    operands = [*changed, *given]
    if not types:
        ir.Operation.create("llvm.inline_asm", [], operands, attributes)
        return []
    packed = ir.Type.parse(f"!llvm.struct<({', '.join(map(str, types))})>")
    whole = result_of("llvm.inline_asm", operands, packed, **attributes)
    return [
        result_of("llvm.extractvalue", [whole], type_, position=ir.DenseI64ArrayAttr.get([at]))
        for at, type_ in enumerate(types)
    ]


def _kind(type_: Type) -> str:
    """Of a register."""
    if isinstance(type_, ir.FloatType):
        return "f"
    return "r" if isinstance(type_, ir.IntegerType) and type_.width == 32 else "l"
