# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions with a team of threads for each result."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.affine import dims_in
from ....bindings.ir import Value
from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.linalg import product
from ....emit.loops import for_range
from ....emit.numbers import Number, Size, as_index, number, select
from ..emit.memory_access import elements, load, wait_for_block
from .points import Indices, Points
from .row_teams import FOR_REDUCTIONS, Team, TeamShape, lanes_for, shape_for
from .vectors import Lanes, is_vector


def is_combined(points: Points) -> bool:
    """Check whether partial results of a reduction can be combined."""
    try:
        return bool(points.reductions) and bool(combiners(points))
    except Decline:
        return False


def shape_of_row(points: Points) -> TeamShape:
    """Choose the team that reduces a row."""
    length, last = points.known_count(points.reductions), points.known_size(points.reductions[-1])
    moving = _moving(points)
    types = [points.operands[place].type.element_type for place in moving]
    lanes = lanes_for(types, last) if types and last else 1
    while lanes > 1 and not all(is_vector(points, place, lanes, points.reductions[-1]) for place in moving):
        lanes //= 2
    return shape_for(length, lanes, 4, FOR_REDUCTIONS)


def _moving(points: Points) -> list[int]:
    """Return the inputs that the last reduction loop indexes."""
    last = points.reductions[-1]
    return [place for place in range(points.input_count) if last in dims_in(*points.maps[place].results)]


def reduce_row(lanes: Lanes, team: Team, row: Value, count: int = 1, *, is_part: bool = False) -> None:
    """Emit the reduction to the outputs' elements at a point by a team. Threads read `count` adjacent elements at once.

    With `is_part`, the last parallel loop selects the part of the steps to reduce, and the outputs' contents are not
    read.
    """
    points = lanes.points
    indices = points.at(row)
    combining = combiners(points)
    steps = as_index(product([points.size(dim) for dim in points.reductions]))
    first, stride = team.thread * count, as_index(team.threads * count)
    if is_part:
        dim = points.parallels[-1]
        first = number(indices[dim]) * team.threads * count + first
        stride = as_index(points.size(dim)) * (team.threads * count)

    def step(place: Value, *before: Value) -> list[Value]:
        values: Sequence[Value] = before
        at = {**indices, **points.at(place, points.reductions)}
        read = _neighbours(points, at, count)
        for lane in range(count):
            inputs = {operand: value[lane] for operand, value in read.items()}
            values = points.evaluated(_move_lane(points, at, lane), inputs, values)
        return list(values)

    end: Size = steps if team.has_row is None else select(team.has_row, steps, as_index(0))
    parts = for_range(first, end, step, *(combiner.neutral() for combiner in combining), step=stride)
    wholes = [team.combined(combiner, part) for combiner, part in zip(combining, parts, strict=True)]

    def finish() -> None:
        if is_part:
            lanes.finish(wholes, indices)
            return
        before = lanes.first(indices)
        lanes.finish([each.apply(*pair) for each, *pair in zip(combining, before, wholes, strict=True)], indices)

    if lanes.overwrites_inputs():
        # The team's other threads must have read the memory that this thread is about to overwrite.
        wait_for_block()
    team.once(finish)


def _neighbours(points: Points, at: Indices, count: int) -> dict[int, Sequence[Value]]:
    """Load the inputs of the body at `count` steps of the last loop."""
    moving = _moving(points) if count > 1 else []
    neighbours: dict[int, Sequence[Value]] = {}
    for place in points.read_inputs:
        if place in moving:
            memref, indices = points.element(place, at)
            neighbours[place] = elements(load(memref, indices, count))
        else:
            neighbours[place] = [points.load(place, at)] * count
    return neighbours


def _move_lane(points: Points, at: Indices, lane: int) -> Indices:
    last = points.reductions[-1]
    return {**at, last: (Number(at[last]) + lane).value} if lane else at
