# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive rfactor: splits a reduction into partial results and their combination."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....support.replacing import replace
from ..loops.body_scalars import Expr
from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import REDUCE, SPATIAL, Access, Block, Iter, Loop, Node, blocks_in, iter_variable, loops_of, variable
from ..loops.tree_buffers import Buffer
from .code_motion import wrap_in_new_loops
from .legality import check_not_part, check_serial
from .reducers import combiner_of


@register_primitive
def rfactor(edit: Edit, loop: LoopRV, factor_axis: int, merge_loops: bool = True) -> BlockRV:
    """Keep the partial result of each step of a reduction's loop in a buffer with a new dimension at `factor_axis`.

    Returns the block, which now computes the partial results. A new block with the old name combines them.

    Floating-point sums are rounded in another order. argmax may return another one of several equal elements.
    """
    del merge_loops  # the loops of the combination are new ones
    found = edit.loop(loop)
    check_serial(edit, [found])
    inside = blocks_in([found])
    if len(inside) != 1:
        edit.refuse(f"'{found.name}' contains {len(inside)} blocks: rfactor is for one reduction")
    block = inside[0]
    root = edit.tree.around(found.name)[0] if edit.tree.around(found.name) else found
    if others := [each.name for each in blocks_in([root]) if each is not block]:
        edit.refuse(f"'{others[0]}' is in the same loops as '{block.name}': apply rfactor before the loops are merged")
    if block.inits is None:
        edit.refuse(f"'{block.name}' has no init: rfactor it before its reduction is decomposed")
    check_not_part(edit, block)
    combined = combiner_of(edit, block)
    target = block.writes[0]
    rank = len(target.buffer.shape)
    if any(len(write.indices) != rank for write in block.writes):
        edit.refuse(f"the outputs of '{block.name}' have different numbers of dimensions")
    if type(factor_axis) is not int or not -rank - 1 <= factor_axis <= rank:
        edit.refuse(f"'{target.buffer.name}' has {rank} dimensions: factor_axis must be from {-rank - 1} to {rank}")
    axis = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
    partials = []
    for access in block.writes:
        partials.append(_buffer(edit, access.buffer, axis, found.extent))
        edit.tree = edit.tree.with_buffer(partials[-1])
    part = _part(edit, block, found, edit.new_name(f"{block.name}_rf"), partials, axis)
    edit.replace(block.name, [part])
    whole = _whole(edit, block, combined, partials, axis, found)
    edit.insert(edit.tree.nest_of(part) + 1, whole)
    return edit.handle(part)


def _buffer(edit: Edit, buffer: Buffer, axis: int, extent: Size) -> Buffer:
    shape = (*buffer.shape[:axis], extent, *buffer.shape[axis:])
    return Buffer(edit.tree.new_buffer_name(f"{buffer.name}_rf"), shape, buffer.element)


def _part(edit: Edit, block: Block, loop: Loop, name: str, partials: Sequence[Buffer], axis: int) -> Block:
    """Return the block with the loop as a spatial iter, and with one iter for each other loop of the reduction."""
    around = {each.name: each for each in edit.tree.around(block.name)}
    reduced = loops_of(block, REDUCE)
    if loop.name not in reduced:
        edit.refuse(f"'{loop.name}' is no loop of the reduction in '{block.name}'")
    spatial = [(each, at) for each, at in zip(block.iters, block.bindings, strict=True) if each.kind == SPATIAL]
    shared = next((n for _, at in spatial for n in variables_of(at) if n in reduced), None)
    if shared is not None:
        edit.refuse(f"'{shared}' moves both the reduction and a spatial iter: it was fused from both")
    own = Iter(f"v{loop.name}", SPATIAL, loop.extent)
    others = [Iter(f"v{n}", REDUCE, around[n].extent) for n in sorted(reduced & set(around), key=list(around).index)
              if n != loop.name]  # fmt: skip
    inner: dict[str, Size] = {loop.name: iter_variable(own), **{each.name[1:]: iter_variable(each) for each in others}}
    values: dict[str, Size] = {}
    within = [(index, limit) for index, limit in block.where if variables_of(index) <= reduced]
    where = tuple(each for each in block.where if each not in within)
    for iter_, at in zip(block.iters, block.bindings, strict=True):
        if iter_.kind == REDUCE:
            values[iter_.name] = substituted(at, inner)
            within.append((at, iter_.extent))
    steps = [(substituted(index, inner), limit) for index, limit in within]
    steps += [(substituted(index, values), limit) for index, limit in block.within]
    variables = [variable(loop.name, loop.extent), *(variable(n.name[1:], n.extent) for n in others)]
    return replace(
        block.at(values),
        name=name,
        iters=(*(each for each, _ in spatial), own, *others),
        bindings=(*(at for _, at in spatial), *variables),
        writes=_at_parts(block, partials, axis, own),
        where=where,
        within=tuple(dict.fromkeys(steps)),
    )


def _at_parts(block: Block, partials: Sequence[Buffer], axis: int, own: Iter) -> tuple[Access, ...]:
    """Return the places of a block's outputs in the partial results."""
    return tuple(
        Access(partial, (*access.indices[:axis], iter_variable(own), *access.indices[axis:]))
        for partial, access in zip(partials, block.writes, strict=True)
    )


def _whole(
    edit: Edit, block: Block, combined: tuple[Expr, ...], partials: Sequence[Buffer], axis: int, loop: Loop
) -> Node:
    """Return the block that combines the partial results, in new loops."""
    spatial = [iter_ for iter_ in block.iters if iter_.kind == SPATIAL]
    own = Iter(f"v{loop.name}", REDUCE, loop.extent)
    reads = _at_parts(block, partials, axis, own)
    return wrap_in_new_loops(edit, replace(block, iters=(*spatial, own), bindings=(), reads=reads, results=combined,
                                      where=(), within=(), regions=()))  # fmt: skip
