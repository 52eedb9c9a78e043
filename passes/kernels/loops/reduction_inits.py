# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inits and epilogues of reductions.

A block that fills the output of the next reduction becomes its init. A block that continues with a reduction's results
gets them from a buffer of their own.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from .body_scalars import Element, Expr
from .tree import SPATIAL, Access, Block, exchange_buffers, iter_variable, unique
from .tree_buffers import Buffer


def with_inits(blocks: Sequence[Block], named: Set[str]) -> tuple[list[Block], list[int]]:
    """Merge blocks that initialize a reduction into the reduction, as its inits.

    A reduction with several outputs may have one such block per output. Merged blocks lose their names; blocks that a
    text names stay blocks.
    Returns the blocks, and for each of them the number of its last original block.
    """
    found: list[Block] = []
    ends: list[int] = []
    for number, block in enumerate(blocks):
        for count in sorted({1, len(block.writes)}):
            starts = found[-count:]
            is_named = any(start.name in named and start.name != block.name for start in starts)
            joined = None if is_named or not starts else _joined(starts, block)
            if joined is not None:
                del found[-count:], ends[-count:]
                block = joined
                break
        found.append(block)
        ends.append(number)
    return found, ends


def _joined(starts: Sequence[Block], block: Block) -> Block | None:
    """Return a reduction with the results of other blocks as its inits, or None if it does not start from them."""
    reduces = block.is_reduction and all(block.reads_output(number) for number in range(len(block.writes)))
    started = {start.writes[0].buffer: start for start in starts}
    in_order = [started[access.buffer] for access in block.writes if access.buffer in started]
    if not reduces or len(in_order) != len(starts):
        return None
    writes = [access for start in in_order for access in start.writes]
    if [write.buffer for write in writes] != [write.buffer for write in block.writes]:
        return None
    inits: list[Expr] = []
    for start in in_order:
        begin = len(inits)
        if (found := _started(start, block, block.writes[begin : begin + len(start.writes)])) is None:
            return None
        inits += found
    return replace(block, inits=tuple(inits))


def _started(start: Block, block: Block, writes: Sequence[Access]) -> list[Expr] | None:
    """Return a block's results in terms of the iters of a reduction, or None if the block is more than its init."""
    spatial = [iter_ for iter_ in block.iters if iter_.kind == SPATIAL]
    if start.is_reduction or start.reads or len(start.iters) != len(spatial):
        return None
    if any(access.buffer in start.buffers for access in block.reads):
        return None
    # An index of several iters does not determine each of them, so pair iters in order.
    pairs = zip(start.iters, spatial, strict=True)
    values: dict[str, Size] = {own.name: 0 if own.extent == 1 else iter_variable(other) for own, other in pairs}
    for own, other in zip(start.writes[0].indices, writes[0].indices, strict=True):
        name = next((iter_.name for iter_ in start.iters if iter_variable(iter_) == own), None)
        values.update({} if name is None else {name: other})
    if [write.at(values).indices for write in start.writes] != [write.indices for write in writes]:
        return None
    extents = {iter_variable(each): each.extent for each in spatial}
    if any(extents.get(values[own.name], own.extent) != own.extent for own in start.iters):
        return None
    if any(isinstance(part, Element) for expr in start.results for part in expr.walk()):
        return None
    return [expr.at(values) for expr in start.results]


def with_own_sums(blocks: Sequence[Block], buffers: list[Buffer]) -> list[Block]:
    """Give a reduction a buffer of its own if another block overwrites its results.

    That block reads from the new buffer.
    """
    found: list[Block] = []
    following: list[Block] = []
    for block in blocks:
        buffer = block.writes[0].buffer
        users = [each for each in found if buffer in each.buffers]
        is_sum = len(users) == 1 and (users[0].inits is not None or users[0] in following)
        if is_sum and _is_whole(users[0]) and _goes_on(block):
            own = replace(buffer, name=unique(users[0].name, (each.name for each in buffers)), is_given=False)
            buffers.append(own)
            found[found.index(users[0])] = exchange_buffers(users[0], buffer, own)
            block = replace(block, reads=(*block.reads, Access(own, block.writes[0].indices)))
            following.append(block)
        found.append(block)
    return found


def _is_whole(block: Block) -> bool:
    """Return True if a block writes each element of one buffer, at a point of its own."""
    write, *others = block.writes
    sizes = {str(iter_variable(iter_)): iter_.extent for iter_ in block.iters if iter_.kind == SPATIAL}
    names = [str(index) for index in write.indices]
    is_each = len(names) == len(set(names)) == len(sizes)
    return not others and is_each and [sizes.get(name) for name in names] == list(write.buffer.shape)


def _goes_on(block: Block) -> bool:
    """Return True if a block computes each element of one buffer from the element's previous value."""
    buffer = block.writes[0].buffer
    is_read = any(access.buffer is buffer for access in block.reads) or buffer in block.loaded
    return not block.is_reduction and not is_read and block.reads_output(0) and _is_whole(block)
