# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_perfect_tile: decides for the factors of a split."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..loops.decisions import TileDecision
from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive
from .factors import divisors, draw_factors, static_steps


@register_primitive
def sample_perfect_tile(
    edit: Edit,
    loop: LoopRV,
    n: int,
    max_innermost_factor: int = 16,
    decision: Sequence[int] | None = None,
    default: Sequence[int | None] | None = None,
) -> list[int]:
    """Decide for `n` factors of `split` with a loop's number of steps as their product. The last factor has a limit.

    In a rule: the decision of a search, or the default, in which one factor may be None. Without a default, the last
    factor is the largest one, and the first has the rest. Elsewhere: the default, or factors that are drawn.
    """
    extent = static_steps(edit, loop, n)
    standard = _largest(extent, n, max_innermost_factor) if default is None else _completed(edit, extent, default)
    asked = TileDecision(extent, n, max_innermost_factor, standard, ())
    if problem := asked.refusal(standard):
        edit.refuse(problem.replace("the decision", "the default"))
    if decision is None and edit.decider is not None:
        decision = edit.decider.take(asked, edit.refuse)
    elif decision is None:
        decision = draw_factors(edit, extent, n, max_innermost_factor) if default is None else standard
    if problem := asked.refusal(tuple(decision)):
        edit.refuse(problem)
    return edit.decided(list(decision))


def _largest(extent: int, count: int, most: int) -> tuple[int, ...]:
    """Return factors with the largest last one."""
    if count == 1:
        return (extent,)
    last = max(divisor for divisor in divisors(extent) if divisor <= max(most, 1))
    return (extent // last, *[1] * (count - 2), last)


def _completed(edit: Edit, extent: int, default: Sequence[int | None]) -> tuple[int, ...]:
    """Return a default with a number in place of None."""
    known = prod(number for number in default if number is not None)
    if list(default).count(None) > 1 or known < 1:
        edit.refuse(f"the default {list(default)} has more than one None, or a factor below 1")
    return tuple(extent // known if number is None else number for number in default)
