# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code motion of blocks (compute_at): dependences that forbid it, and the loops that they get there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...dialects.core.symbols_expr import Size, terms_of
from ...support.replacing import replace
from ..loops.primitives import Edit
from ..loops.ranges import Range, factor_of, is_multiple, range_of, without
from ..loops.tree import REDUCE, Block, Buffer, Iter, Loop, Node, blocks_in, iter_variable, loops_of, nested, variable


def check_passes(edit: Edit, block: Block, others: Iterable[Block], *, between: Collection[Buffer] = ()) -> None:
    """No block that it passes may write what it reads or writes, or read what it writes.

    Those whose loops it comes to run in are passed, too, as its steps and theirs take turns; of the buffers between
    them the caller knows that each element is made before it is read.
    """
    for other in others:
        if other is block:
            continue
        for buffer in block.buffers:
            if buffer in between:
                continue
            is_written = bool(block.writes_of(buffer))
            if other.writes_of(buffer) or (is_written and buffer in other.buffers):
                verb = "writes" if other.writes_of(buffer) else "reads"
                edit.refuse(f"'{block.name}' cannot pass block '{other.name}', which {verb} '{buffer.name}'")


def check_moves(edit: Edit, block: Block, loop: Loop) -> None:
    """What holds wherever a block goes to."""
    if block in blocks_in([loop]):
        edit.refuse(f"'{block.name}' is in '{loop.name}' already")
    for access in block.writes:
        if access.buffer.rolling:
            edit.refuse(
                f"'{block.name}' leaves out what '{access.buffer.name}' still holds: move it before rolling_buffer"
            )
        if any(read.buffer is access.buffer for read in block.reads):
            edit.refuse(f"'{block.name}' writes over '{access.buffer.name}', which it reads: it can run once only")
        check_only_writer(edit, block, access.buffer)
    _check_reads_of_rolling(edit, block, loop)
    if block.is_reduction and block.inits is None:
        problem = f"'{block.name}' goes on with what '{block.writes[0].buffer.name}' holds: it can run once only"
        edit.refuse(f"{problem}; move it before its reduction is decomposed, or give it an init")


def _check_reads_of_rolling(edit: Edit, block: Block, loop: Loop) -> None:
    """Refuse to move a reader of a circular buffer beside the writer, which computes only what no step before has made.

    The reader would run for these elements alone, and what it writes would lack all others.
    """
    for access in block.reads:
        buffer = access.buffer
        is_inside = len(edit.tree.around(loop.name)) >= len(buffer.rolling)
        if buffer.rolling and is_inside and any(each.writes_of(buffer) for each in blocks_in([loop])):
            edit.refuse(
                f"'{block.name}' would leave out what '{buffer.name}' still holds: move it before rolling_buffer"
            )


def check_only_writer(edit: Edit, block: Block, buffer: Buffer) -> None:
    others = [other.name for other in edit.tree.writers(buffer) if other is not block]
    if others:
        edit.refuse(f"'{buffer.name}' is written by '{others[0]}', too")


def plain_iter(block: Block, index: Size) -> Iter | None:
    """The iter that an index is."""
    return next((each for each in block.iters if str(index) == each.name), None)


class IterPoints(NamedTuple):
    """Points of an iter at which an index is in a range: exactly these, or some more."""

    range: Range
    is_exact: bool


def points_in(block: Block, own: Iter, index: Size, reached: Range) -> IterPoints | None:
    """The points of one of a block's iters at which an index is in a range; None where it says nothing about them."""
    by = _divisor(own, index)
    if by is not None:
        return IterPoints(Range(by * reached.start, by * reached.extent), True)
    by = factor_of(index, own.name)
    others = {each.name: each.extent for each in block.iters if each is not own}
    rest = range_of(without(index, own.name), others)
    if by is None or by < 1 or rest is None or not isinstance(rest.extent, int):
        return None
    start = reached.start - rest.start
    if rest.extent <= by and is_multiple(start, by) and is_multiple(reached.extent, by):
        return IterPoints(Range(start // by, reached.extent // by), True)
    first = (start - rest.extent + by) // by
    return IterPoints(Range(first, (reached.extent + rest.extent - 2) // by + 1), False)


def _divisor(own: Iter, index: Size) -> int | None:
    """What an iter is divided by to be an index."""
    atoms = [atom for monomial in terms_of(index) for atom in monomial if atom.kind == "//"]
    found = atoms[0].args[1] if len(atoms) == 1 else None
    return found if isinstance(found, int) and index == iter_variable(own) // found else None


def in_new_loops(edit: Edit, block: Block) -> Node:
    """The block with a loop of its own for each of its iters."""
    return in_loops(edit, block, {}, keep_units=True)


def in_loops(
    edit: Edit,
    block: Block,
    ranges: Mapping[str, Range],
    *,
    keep_units: bool,
    where: tuple[tuple[Size, Size], ...] = (),
) -> Node:
    """The block with loops of its own over ranges of its iters, all if none is given; `where` by the loops around."""
    loops: list[tuple[str, Size]] = []
    bindings: list[Size] = []
    for each in block.iters:
        reached = ranges.get(each.name, Range(0, each.extent))
        if reached.extent == 1 and not keep_units:
            bindings.append(reached.start)
            continue
        name = edit.new_name(f"ax{len(loops)}", [name for name, _ in loops])
        loops.append((name, reached.extent))
        bindings.append(reached.start + variable(name, reached.extent))
    (node,) = nested(loops, replace(block, bindings=tuple(bindings), where=where))
    return node


def order_of(edit: Edit) -> dict[str, int]:
    """When each block runs, by its name."""
    return {block.name: number for number, block in enumerate(edit.tree.blocks())}


def is_reduced_by(block: Block, loops: Sequence[Loop]) -> Loop | None:
    """The first of some loops whose steps add to the same elements of a block."""
    reduced = loops_of(block, REDUCE)
    return next((loop for loop in loops if loop.name in reduced), None)
