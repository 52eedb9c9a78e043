# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma: asynchronous products of a group of four warps from shared memory.

The instructions are inline assembly instead of nvvm operations. Sums stay in their registers until the group has
waited. So the code from the fence to the wait is one piece, and nothing is moved into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Type, Value
from ....bindings.mlir import ir
from ....emit.arithmetic import result_of
from ....emit.numbers import Number, as_i64, operation

#: Bytes of a line. The pieces of a line are swizzled by its number modulo LINES.
LINE_BYTES, LINES = 128, 8
_ROWS = 64
#: Addresses and distances are in units of 16 bytes. A transposed layout in lines of 128 bytes is of kind 1 (bits 62 and
#: 63).
_UNIT, _TURNED = 16, 1 << 62
_NEXT_SIDE, _NEXT_LINES = 16, 32


class Factor(NamedTuple):
    """Layout of an input in shared memory."""

    #: PTX's name of its element type.
    type: str
    #: If lines go along the input's own side, the distance in bytes between pieces of 128 bytes; unused otherwise.
    next_side: int
    #: True if lines go along the input's own side instead of the reduction.
    is_turned: bool

    def advance(self, step: int, steps: int) -> int:
        """Return the distance from a block's first step to a later instruction, with `steps` steps each."""
        return step * (steps * LINE_BYTES if self.is_turned else LINE_BYTES // 4) // _UNIT

    def rows_apart(self) -> int:
        """Return the distance between groups of 64 rows."""
        return self.next_side // _UNIT if self.is_turned else rows_apart(_ROWS)


def rows_apart(rows: int) -> int:
    """Return the distance of `rows` lines."""
    return rows * LINE_BYTES // _UNIT


def descriptor(memory: Value, stage: Number, line: Number, factor: Factor) -> Value:
    """Return the matrix descriptor of a stage of an input, from a line on."""
    index = ir.IndexType.get()
    base = operation("memref.extract_aligned_pointer_as_index", [memory], index)
    _, lines, _ = memory.type.shape
    address = as_i64(((stage * lines + line) * LINE_BYTES + base).value)
    kind = _TURNED | factor.next_side // _UNIT << _NEXT_SIDE | LINES * LINE_BYTES // _UNIT << _NEXT_LINES
    return ((address >> 4) + kind).value


def show_to_groups() -> None:
    """Make the thread's writes to shared memory visible to wgmma after the next barrier."""
    assembly("fence.proxy.async.shared::cta;", [], [])


def wait_for_groups(sums: Sequence[Value]) -> list[Value]:
    """Wait for all requested products and return the sums."""
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
    """Request a block's products: four times `steps` steps, for `groups` groups of 64 rows.

    The code waits until at most `pending` blocks are in flight. Nothing else may use their sums.
    """
    left, right = factors
    total = "f32" if isinstance(sums[0].type, ir.FloatType) else "s32"
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{steps}.{total}.{left.type}.{right.type}"
    # The scale factors are 1. The transposition flags do not exist for bytes, which are never transposed.
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


def assembly(text: str, changed: Sequence[Value], values: Sequence[Value], made: Sequence[Type] = ()) -> list[Value]:
    """Emit instructions that update values in place, create new ones, and read others.

    In the text, `$0` and so on are the updated values, the created ones, the updated ones again, and the read ones.
    """
    types = [*(value.type for value in changed), *made]
    outputs = [f"={_kind(type_)}" for type_ in types[: len(changed)]]
    outputs += [f"=&{_kind(type_)}" for type_ in made]
    inputs = [*map(str, range(len(changed))), *(_kind(value.type) for value in values)]
    parts = [*outputs, *inputs, "~{memory}"]
    attributes = {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(",".join(parts)),
        "has_side_effects": ir.UnitAttr.get(),
    }
    operands = [*changed, *values]
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
    """Return the constraint letter of a register."""
    if isinstance(type_, ir.FloatType):
        return "f"
    return "r" if isinstance(type_, ir.IntegerType) and type_.width == 32 else "l"
