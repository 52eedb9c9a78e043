# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop peeling: how many steps of a loop need not ask whether their points are there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ...dialects.core.symbols_expr import Size, ceildiv_sizes, extremum, variables_of
from .ranges import Guard, factor_of, range_of, without
from .tree import UNROLLED, VECTORIZED, Block, Loop, blocks_in, loops_in

#: Of the loops around one that runs in two parts, those that may, too: each doubles the code.
MOST_PEELED = 2


class WholeSteps(NamedTuple):
    """The first steps of a loop, up to `end`, and what is known to hold in them."""

    end: Size
    known: frozenset[Guard]
    #: Whether there is one more step at most.
    is_almost_all: bool


def is_worth_it(loop: Loop) -> bool:
    """Whether it pays to have code of its own for steps that need not ask."""
    return any(each.kind in (VECTORIZED, UNROLLED) for each in loops_in(loop.body))


def whole_steps(loop: Loop, guards: Callable[[Block], Sequence[Guard]], known: Collection[Guard]) -> WholeSteps | None:
    """The steps before those that go too far; None where no steps do. `known` are guards that hold in all steps."""
    inside = loops_in(loop.body)
    extents = {each.name: each.extent for each in inside}
    found: dict[Guard, Size] = {}
    for guard in dict.fromkeys(each for block in blocks_in(loop.body) for each in guards(block)):
        count = None if guard in known else _steps_within(guard, loop, extents)
        if count is not None:
            found[guard] = count
    if not found:
        return None
    is_almost_all = all(_is_split(each, loop, extents) for each in found)
    counts = list(dict.fromkeys(found.values()))
    first = extremum("min", counts if is_almost_all else [loop.extent, *counts])
    end = max(first, 0) if isinstance(first, int) else extremum("max", [first, 0])
    return None if end == 0 else WholeSteps(end, frozenset(found), is_almost_all)


def _steps_within(guard: Guard, loop: Loop, inside: dict[str, Size]) -> Size | None:
    """How many steps of a loop are within a guard whatever the loops inside do."""
    factor = factor_of(guard.at, loop.name)
    if guard.below or not factor or factor < 0 or loop.name in variables_of(guard.limit):
        return None
    reached = range_of(without(guard.at, loop.name), inside)
    if reached is None:
        return None
    return ceildiv_sizes(guard.limit - (reached.start + reached.extent - 1), factor)


def _is_split(guard: Guard, loop: Loop, inside: dict[str, Size]) -> bool:
    """Whether a loop has as many steps as there are with points within a guard, each of them with some of its own."""
    factor, reached = factor_of(guard.at, loop.name), range_of(without(guard.at, loop.name), inside)
    assert factor and reached is not None
    is_short = isinstance(reached.extent, int) and reached.extent <= factor
    return is_short and loop.extent == ceildiv_sizes(guard.limit - reached.start, factor)
