# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code motion of blocks (compute_at): check of dependences, and the loops around a moved block."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ....dialects.core.symbols_expr import Size, terms_of
from ....support.replacing import replace
from ..loops.primitives import Edit
from ..loops.ranges import Range, factor_of, is_multiple, range_of, substitute_zero
from ..loops.tree import REDUCE, Block, Iter, Loop, Node, blocks_in, iter_variable, loops_of, nested, variable
from ..loops.tree_buffers import Buffer


def check_passes(edit: Edit, block: Block, others: Iterable[Block], *, between: Collection[Buffer] = ()) -> None:
    """Check that a block has no dependence with the blocks that it passes.

    Blocks in the target loop are passed, too, as their steps and the block's alternate. `between` are buffers for which
    the caller has proved that each element is written before it is read.
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
    """Check the conditions of a move that do not depend on the target."""
    if block in blocks_in([loop]):
        edit.refuse(f"'{block.name}' is already in '{loop.name}'")
    for access in block.writes:
        if access.buffer.rolling:
            edit.refuse(
                f"'{block.name}' skips elements that '{access.buffer.name}' still has: move it before rolling_buffer"
            )
        if any(read.buffer is access.buffer for read in block.reads):
            edit.refuse(f"'{block.name}' overwrites '{access.buffer.name}', which it reads: it can run only once")
        check_only_writer(edit, block, access.buffer)
    _check_reads_of_rolling(edit, block, loop)
    if block.is_reduction and block.inits is None:
        problem = f"'{block.name}' depends on previous values of '{block.writes[0].buffer.name}': it can run only once"
        edit.refuse(f"{problem}; move it before its reduction is decomposed, or give it an init")


def _check_reads_of_rolling(edit: Edit, block: Block, loop: Loop) -> None:
    """Refuse to move a reader of a circular buffer beside its writer, which skips elements that earlier steps computed.

    The reader would run for new elements only, and its output would lack all others.
    """
    for access in block.reads:
        buffer = access.buffer
        is_inside = len(edit.tree.around(loop.name)) >= len(buffer.rolling)
        if buffer.rolling and is_inside and any(each.writes_of(buffer) for each in blocks_in([loop])):
            edit.refuse(
                f"'{block.name}' would skip elements that '{buffer.name}' still has: move it before rolling_buffer"
            )


def check_only_writer(edit: Edit, block: Block, buffer: Buffer) -> None:
    if others := [other.name for other in edit.tree.writers(buffer) if other is not block]:
        edit.refuse(f"'{buffer.name}' is written by '{others[0]}', too")


def plain_iter(block: Block, index: Size) -> Iter | None:
    """Return the iter that an index equals, or None."""
    return next((iter_ for iter_ in block.iters if str(index) == iter_.name), None)


class IterPoints(NamedTuple):
    """Points of an iter at which an index is in a range. `is_exact`: no other points are in `range`."""

    range: Range
    is_exact: bool


def points_in(block: Block, own: Iter, index: Size, reached: Range) -> IterPoints | None:
    """Return the points of an iter at which an index is in a range, or None if the index does not limit them."""
    atoms = [atom for monomial in terms_of(index) for atom in monomial if atom.kind == "//"]
    found = atoms[0].args[1] if len(atoms) == 1 else None
    by = found if isinstance(found, int) and index == iter_variable(own) // found else None
    if by is not None:
        return IterPoints(Range(by * reached.start, by * reached.extent), True)
    by = factor_of(index, own.name)
    others = {iter_.name: iter_.extent for iter_ in block.iters if iter_ is not own}
    rest = range_of(substitute_zero(index, own.name), others)
    if by is None or by < 1 or rest is None or not isinstance(rest.extent, int):
        return None
    start = reached.start - rest.start
    if rest.extent <= by and is_multiple(start, by) and is_multiple(reached.extent, by):
        return IterPoints(Range(start // by, reached.extent // by), True)
    first = (start - rest.extent + by) // by
    return IterPoints(Range(first, (reached.extent + rest.extent - 2) // by + 1), False)


def wrap_in_new_loops(edit: Edit, block: Block) -> Node:
    """Return the block in one new loop per iter."""
    return in_loops(edit, block, {}, keep_units=True)


def in_loops(
    edit: Edit,
    block: Block,
    ranges: Mapping[str, Range],
    *,
    keep_units: bool,
    where: tuple[tuple[Size, Size], ...] = (),
) -> Node:
    """Return the block in new loops over ranges of its iters.

    Without a range, a loop covers the whole iter. `where` is in terms of the outer loops.
    """
    loops: list[tuple[str, Size]] = []
    bindings: list[Size] = []
    for iter_ in block.iters:
        reached = ranges.get(iter_.name, Range(0, iter_.extent))
        if reached.extent == 1 and not keep_units:
            bindings.append(reached.start)
            continue
        name = edit.new_name(f"ax{len(loops)}", [name for name, _ in loops])
        loops.append((name, reached.extent))
        bindings.append(reached.start + variable(name, reached.extent))
    (node,) = nested(loops, replace(block, bindings=tuple(bindings), where=where))
    return node


def order_of(edit: Edit) -> dict[str, int]:
    """Return the position of each block in program order, by name."""
    return {block.name: number for number, block in enumerate(edit.tree.blocks())}


def is_reduced_by(block: Block, loops: Sequence[Loop]) -> Loop | None:
    """Return the first loop with steps that reduce into the same elements of a block."""
    reduced = loops_of(block, REDUCE)
    return next((loop for loop in loops if loop.name in reduced), None)
