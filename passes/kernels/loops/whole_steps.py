# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop peeling: number of steps of a loop that need no bounds checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ....dialects.core.symbols_expr import Size, ceildiv_sizes, extremum, variables_of
from .ranges import Guard, factor_of, range_of, substitute_zero
from .tree import UNROLLED, VECTORIZED, Block, Loop, blocks_in, loops_in

#: Maximum number of nested loops that are peeled: each doubles the code.
MOST_PEELED = 2


class WholeSteps(NamedTuple):
    """First steps of a loop, up to `end`, with the guards that are true in all of them."""

    end: Size
    known: frozenset[Guard]
    #: True if at most one more step follows.
    is_almost_all: bool


def is_worth_it(loop: Loop) -> bool:
    """Return True if separate code for steps without bounds checks pays off."""
    return any(each.kind in (VECTORIZED, UNROLLED) for each in loops_in(loop.body))


def whole_steps(loop: Loop, guards: Callable[[Block], Sequence[Guard]], known: Collection[Guard]) -> WholeSteps | None:
    """Return the steps before the first step that exceeds a limit, or None if there are none.

    Guards in `known` are true in all steps.
    """
    extents = {each.name: each.extent for each in loops_in(loop.body)}
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
    """Return the number of steps of a loop that are within a guard for all steps of the inner loops."""
    factor = factor_of(guard.at, loop.name)
    if guard.below or not factor or factor < 0 or loop.name in variables_of(guard.limit):
        return None
    if (reached := range_of(substitute_zero(guard.at, loop.name), inside)) is None:
        return None
    return ceildiv_sizes(guard.limit - (reached.start + reached.extent - 1), factor)


def _is_split(guard: Guard, loop: Loop, inside: dict[str, Size]) -> bool:
    """Return True if the loop's steps just cover the points within a guard, each step with points of its own."""
    factor, reached = factor_of(guard.at, loop.name), range_of(substitute_zero(guard.at, loop.name), inside)
    assert factor and reached is not None
    is_short = isinstance(reached.extent, int) and reached.extent <= factor
    return is_short and loop.extent == ceildiv_sizes(guard.limit - reached.start, factor)
