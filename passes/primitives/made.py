# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one step of a loop makes of a buffer, no more and no less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...dialects.core.indices import is_below
from ...dialects.core.symbols_expr import Size, variables_of
from ..loops.ranges import Range, factor_of, range_of
from ..loops.tree import Block, Buffer, Loop
from .moving import inside_of
from .registry import Edit


def made_of(edit: Edit, reader: Block, around: Loop, writers: Sequence[Block], buffer: Buffer) -> list[Range]:
    """By dimension. Refuses where that is no rectangle: what reads it could not go over it in loops."""
    inner = inside_of(around)
    boxes = [_box(writer, buffer, inner) for writer in writers if writer.writes_of(buffer)]
    whole = [Range(0, size) for size in buffer.shape]
    found = boxes[0] if all(each == boxes[0] for each in boxes) else whole if whole in boxes else None
    if found is None:
        what = f"one step of '{around.name}' makes no rectangle of '{buffer.name}'"
        edit.refuse(f"{what}, which '{reader.name}' could go over: name a loop whose steps make whole lines of it")
    return found


def _box(writer: Block, buffer: Buffer, inner: Mapping[str, Size]) -> list[Range] | None:
    (write, *others) = writer.writes_of(buffer)
    if others:
        return None
    indices = writer.placed(write).indices
    reached = [range_of(index, inner) for index in indices]
    box = [Range(0, size) if each is None else each for each, size in zip(reached, buffer.shape, strict=True)]
    used = [variables_of(index) & inner.keys() for index in indices]
    apart = sum(map(len, used)) == len(set[str]().union(*used))
    if apart and all(_is_dense(index, inner) for index in indices):
        return box
    # Each point of a block is computed once: as many as the box has are all of it.
    points = [inner[name] for name in sorted(set[str]().union(*used))]
    sizes = [each.extent for each in box]
    known = all(isinstance(each, int) for each in (*points, *sizes))
    return box if known and prod(points) == prod(sizes) else None


def _is_dense(index: Size, inner: Mapping[str, Size]) -> bool:
    """Whether an index takes all values from its first one on to its last one."""
    moves = [(factor_of(index, name), inner[name]) for name in variables_of(index) & inner.keys()]
    if any(factor is None or factor <= 0 for factor, _ in moves):
        return False
    reach: Size = 1
    for factor, extent in sorted(moves, key=lambda each: each[0] or 0):
        if not isinstance(reach, int) or factor is None or factor > reach:
            return False
        reach = reach + factor * (extent - 1)
    return True


def left_out(
    edit: Edit, reader: Block, around: Loop, writers: Sequence[Block], made: Sequence[Buffer]
) -> tuple[tuple[Size, Size], ...]:
    """Where a reader that goes over what was made has to leave out what the writers left out."""
    inner, extents = inside_of(around), edit.tree.extents()
    found: list[tuple[Size, Size]] = []
    for buffer in made:
        read = next(access for access in reader.reads if access.buffer is buffer)
        at = reader.placed(read).indices
        for writer in writers:
            for write in writer.writes_of(buffer):
                written = writer.placed(write).indices
                for index, limit in writer.where:
                    if is_below(index, limit, extents):
                        continue
                    found.append((_as_read(edit, reader, writer, index, limit, inner, at, written), limit))
    return tuple(dict.fromkeys(found))


def _as_read(
    edit: Edit,
    reader: Block,
    writer: Block,
    index: Size,
    limit: Size,
    inner: Mapping[str, Size],
    at: Sequence[Size],
    written: Sequence[Size],
) -> Size:
    """What must be below the limit for a writer's point to be one, by the loops of the reader."""
    if not variables_of(index) & inner.keys():
        return index
    for here, there in zip(at, written, strict=True):
        before = there - index
        if not variables_of(before) & inner.keys():
            return here - before
    edit.refuse(
        f"'{writer.name}' leaves out what '{reader.name}' cannot: points where {index} is not below {limit}; "
        "split by factors that fit, or move it before"
    )
