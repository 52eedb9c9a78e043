# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legality of a plan's tiles (AMX) for an operation, and the reductions that they sum."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from .dots import Dots
from .plan import Plan, Tiles, points_of_step


def check_tiles(op: StructuredOp, plan: Plan, tiles: Tiles, dots: Dots) -> None:
    assert plan.dot is not None
    if not all(op.sizes[dim] for dim in op.reductions) or plan.carried < len(op.reductions):
        raise Decline("tiles need reductions of known sizes, all of them carried")
    if tiles.dim in (*op.reductions, plan.vector) or op.uses(dots.columns, tiles.dim):
        raise Decline(f"loop {tiles.dim} has no rows for tiles: only operand {dots.rows} may use it")
    if plan.order.index(tiles.dim) > plan.order.index(plan.vector):
        raise Decline(f"rows of tiles are copied outside of the columns' loop: loop {tiles.dim} is inside")
    after = plan.order[plan.order.index(tiles.dim) + 1 :]
    inside = [dim for dim in after if dim not in (*op.reductions, plan.vector) and op.sizes[dim] != 1]
    if any(op.uses(dots.rows, dim) for dim in inside):
        raise Decline(f"tiles of rows are copied in loop {tiles.dim}: a loop inside of it needs other rows")
    if plan.square is not None or any(plan.tile.get(dim, 1) > 1 for dim in op.reductions):
        raise Decline("tiles need one step of a reduction at a time, and no squares")
    if any(op.sizes[dim] != 1 for dim in op.reductions if dim != plan.dot.dim):
        _check_tiles_of_taps(op, plan, tiles, dots)
    elif plan.panel is None or plan.panel.length != op.sizes[plan.dot.dim]:
        raise Decline("tiles of a product need a panel as long as its reduction")
    elif not plan.panel.is_packed and any(op.uses(dots.columns, dim) for dim in inside):
        raise Decline(f"the panel is copied outside of loop {tiles.dim}: a loop inside of it needs other columns")
    elif not set(plan.tile) <= {tiles.dim, plan.vector}:
        raise Decline("steps of tiles consist of rows and columns")
    if any(length % points_of_step(plan, dim) for dim, length in plan.blocks) or plan.dot.dim in dict(plan.blocks):
        raise Decline("blocks of tiles must consist of whole steps, and must not split the reduction")


def _check_tiles_of_taps(op: StructuredOp, plan: Plan, tiles: Tiles, dots: Dots) -> None:
    """Check sums over several loops, which count as one sum.

    In the columns' operand, these loops follow a loop over blocks of columns.
    """
    assert plan.dot is not None
    sums = [dim for dim in op.reductions if op.sizes[dim] != 1]
    axes = zip(op.accesses[dots.columns], op.shapes[dots.columns], strict=True)
    block, *inside = [(index.dim, size) for index, size in axes]
    wanted = [*outer_sums(op, plan, dots.columns), plan.dot.dim, plan.vector]
    has_order = [dim for dim, size in inside if size != 1] == wanted and set(sums) == set(wanted[:-1])
    if not has_order or block[0] not in op.parallels or plan.panel is not None or plan.blocks:
        raise Decline(f"operand {dots.columns} has no blocks of columns, with all reductions in each, for tiles")
    width, steps = tiles.size * plan.dot.group, size_of_sum(op, [plan.dot.dim])
    if max(width, steps) % min(width, steps) or steps % plan.dot.group or size_of_sum(op, sums) % width:
        raise Decline(f"the reductions are no multiples of tiles of {width} steps")
    if op.sizes[plan.vector] != plan.lanes or not set(plan.tile) <= {tiles.dim, plan.vector, block[0]}:
        raise Decline(f"steps of tiles consist of rows and blocks of {plan.lanes} columns")


def outer_sums(op: StructuredOp, plan: Plan, columns: int) -> list[int]:
    """Return a sum's loops other than the dot's, in their order in the columns' operand."""
    assert plan.dot is not None
    dims = [index.dim for index in op.accesses[columns]]
    return [dim for dim in dims if dim in op.reductions and dim != plan.dot.dim and op.sizes[dim] != 1]


def size_of_sum(op: StructuredOp, dims: Sequence[int]) -> int:
    """Return the number of points of loops with known sizes, which tiles' sums have."""
    return math.prod(op.sizes[dim] or 0 for dim in dims)
