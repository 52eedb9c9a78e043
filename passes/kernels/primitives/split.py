# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive split: splits a loop into nested loops (strip-mining)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ....dialects.core.indices import is_below
from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import SERIAL, Loop, Node, map_nodes, nested, rebind, variable

#: Maximum number of steps of a loop.
_MOST_STEPS = 1 << 40


@register_primitive
def split(
    edit: Edit,
    loop: LoopRV,
    factors: Sequence[int | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> list[LoopRV]:
    """Split a loop into nested loops with these extents, outermost first.

    One factor may be None, which is then derived.
    If the factors give more steps than the loop has, blocks skip the steps beyond its end. `disable_predication` is
    refused then: blocks would access memory out of bounds.
    """
    found = edit.loop(loop)
    if found.kind != SERIAL:
        edit.refuse(f"'{found.name}' is already {found.kind}: split it first")
    extents = _extents(edit, found, factors)
    names = edit.new_names([f"{found.name}_{number}" for number in range(len(extents))])
    index: Size = 0
    for name, extent in zip(names, extents, strict=True):
        index = index * extent + (0 if extent == 1 and not preserve_unit_iters else variable(name, extent))
    nodes: tuple[Node, ...] = rebind(found.body, {found.name: index})
    if not is_below(index, found.extent):
        if disable_predication:
            edit.refuse(
                f"the factors may give more steps than the {found.extent} of '{found.name}': blocks need a condition, "
                "so leave disable_predication=True out"
            )
        nodes = map_nodes(nodes, lambda block: replace(block, where=(*block.where, (index, found.extent))))
    edit.replace(found.name, nested(zip(names, extents, strict=True), *nodes))
    return [edit.handle(name) for name in names]


def _extents(edit: Edit, loop: Loop, factors: Sequence[int | None]) -> list[Size]:
    if not isinstance(factors, (list, tuple)) or not factors:
        edit.refuse(f"expected a list of factors, like [None, 8], got {factors!r}")
    if wrong := [factor for factor in factors if factor is not None and (type(factor) is not int or factor < 1)]:
        edit.refuse(f"a factor must be a number of at least 1, or None, not {wrong[0]!r}")
    if (known := prod(factor for factor in factors if factor is not None)) > _MOST_STEPS:
        edit.refuse(f"the factors give {known} steps, at most {_MOST_STEPS} are allowed")
    if list(factors).count(None) > 1:
        edit.refuse("only one factor may be None")
    if None in factors:
        rest = -(-loop.extent // known)
        return [rest if factor is None else factor for factor in factors]
    if not isinstance(loop.extent, int):
        edit.refuse(f"'{loop.name}' has {loop.extent} steps: one factor must be None")
    if known < loop.extent:
        edit.refuse(f"the factors give {known} steps, but '{loop.name}' has {loop.extent}: make one of them None")
    return [factor for factor in factors if factor is not None]
