# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive decompose_reduction: moves a reduction's init to a block of its own."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....support.replacing import replace
from ..loops.body_scalars import Expr
from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import SPATIAL, Block, Loop, Node, loops_of, variable
from .code_motion import is_reduced_by


@register_primitive
def decompose_reduction(edit: Edit, block: BlockRV, loop: LoopRV) -> BlockRV:
    """Move a reduction's init to a new nest before a loop, and return the block that fills.

    The old block keeps the updates.
    """
    found, before = edit.block(block), edit.loop(loop)
    if found.inits is None:
        edit.refuse(f"'{found.name}' has no init")
    outer, inner = loops_at(edit, found, before)
    if (reducing := is_reduced_by(found, outer)) is not None:
        edit.refuse(
            f"'{reducing.name}' around '{before.name}' is a loop of the reduction: name this loop, or a loop around it"
        )
    moving = loops_of(found)
    again = next((loop for loop in inner if loop.name not in moving and loop.extent != 1), None)
    if again is not None:
        problem = f"'{found.name}' runs again at each step of '{again.name}', and must start again"
        edit.refuse(f"{problem}: name a loop inside of it")
    name = edit.new_name(f"{found.name}_init")
    node = make_init_block(edit, found, found.inits, name, inner)
    edit.replace(found.name, [replace(found, inits=None)])
    edit.replace(before.name, [node, edit.tree.loop(before.name)])
    return edit.handle(edit.tree.block(name))


def loops_at(edit: Edit, block: Block, before: Loop) -> tuple[list[Loop], list[Loop]]:
    """Return the loops outside of a loop around a block, and the loops from that loop to the block."""
    around = edit.tree.around(block.name)
    if before not in around:
        edit.refuse(f"'{before.name}' is not around '{block.name}'")
    return around[: around.index(before)], around[around.index(before) :]


def make_init_block(edit: Edit, block: Block, starts: Sequence[Expr], name: str, inner: Sequence[Loop]) -> Node:
    """Return a block that writes initial values, in copies of the loops that move its points."""
    kept = [number for number, iter_ in enumerate(block.iters) if iter_.kind == SPATIAL]
    bindings = [block.bindings[number] for number in kept]
    used = {text for binding in bindings for text in variables_of(binding)}
    copied = [loop for loop in inner if loop.name in used]
    new = edit.new_names([f"{loop.name}_init" for loop in copied])
    values: dict[str, Size] = {loop.name: variable(n, loop.extent) for loop, n in zip(copied, new, strict=True)}
    gone = {loop.name for loop in inner} - set(values)
    where = tuple((index, limit) for index, limit in block.where if variables_of(index).isdisjoint(gone))
    shift = {len(block.reads) + number: number for number in range(len(block.writes))}
    reads = block.reads
    if any(expr.elements() for expr in starts):
        shift = {number: number for number in range(len(block.accesses))}
    else:
        reads = ()
    node: Node = Block(
        name,
        tuple(block.iters[number] for number in kept),
        tuple(substituted(binding, values) for binding in bindings),
        reads,
        block.writes,
        tuple(expr.renumbered(shift) for expr in starts),
        where=tuple((substituted(index, values), limit) for index, limit in where),
    )
    for loop, fresh in reversed(list(zip(copied, new, strict=True))):
        node = replace(loop, name=fresh, body=(node,))
    return node
