# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops for a consumer that visits the points of a producer's loops one by one, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....support.replacing import replace
from ..loops.primitives import Edit
from ..loops.tree import REDUCE, SPATIAL, Block, Iter, Loop, Node, loops_in, loops_of, nested, variable
from ..loops.tree_buffers import Buffer
from .code_motion import plain_iter


def in_loops_of_producer(
    edit: Edit, block: Block, around: Loop, inside: Sequence[Block], buffer: Buffer
) -> Node | None:
    """Return the block in copies of the loops in which a loop step computes a buffer that the block reads.

    Return None if the block's points do not map one to one to the producer's.
    Copied loops also cover regions that are no box: fused loops run across lines, and steps end within a line.
    """
    writers = [each for each in inside if each.writes_of(buffer)]
    reads = {access.indices for access in block.reads if access.buffer is buffer}
    if len(writers) != 1 or len(reads) != 1 or block.is_reduction or _reads_own(block):
        return None
    (writer,), (indices,) = writers, reads
    written = writer.writes_of(buffer)
    iters = _iters(block, indices)
    if len(written) != 1 or iters is None or _iters(writer, written[0].indices) is None:
        return None
    reduced = loops_of(writer, REDUCE)
    limits = [each for each in writer.where if variables_of(each[0]).isdisjoint(reduced)]
    # A loop that excludes points may move none of them.
    used = loops_of(writer, SPATIAL).union(*(variables_of(index) for index, _ in limits))
    loops = [loop for loop in loops_in(around.body) if loop.name in used]
    names = edit.new_names([f"ax{number}" for number in range(len(loops) + len(block.iters) - len(iters))])
    fresh: dict[str, Size] = {loop.name: variable(name, loop.extent) for loop, name in zip(loops, names, strict=False)}
    placed = writer.placed(written[0]).at(fresh)
    extents = [loop.extent for loop in loops]
    bindings: list[Size] = []
    for iter_ in block.iters:
        if iter_ in iters:
            bindings.append(placed.indices[iters.index(iter_)])
            continue
        bindings.append(variable(names[len(extents)], iter_.extent))
        extents.append(iter_.extent)
    where = tuple((substituted(index, fresh), limit) for index, limit in limits)
    (node,) = nested(zip(names, extents, strict=True), replace(block, bindings=tuple(bindings), where=where))
    return node


def _iters(block: Block, indices: Sequence[Size]) -> list[Iter] | None:
    """Return the iters that the indices equal, or None if they are not distinct spatial iters."""
    iters = [each for index in indices if (each := plain_iter(block, index)) is not None and each.kind == SPATIAL]
    return iters if len(iters) == len(indices) == len({iter_.name for iter_ in iters}) else None


def _reads_own(block: Block) -> bool:
    """Return True if a block updates its outputs, so that each point can run only once."""
    return any(block.reads_output(number) for number in range(len(block.writes)))
