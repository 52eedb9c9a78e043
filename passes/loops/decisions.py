# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of schedules: numbers that a rule takes as they are by default, and that a search varies.

    sch = context.schedule(function)
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(j, sch.sample_perfect_tile(j, 2, max_innermost_factor=64, default=[None, 16]))

A search runs the rule again with other decisions (`passes/schedule/decided.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, overload

from .handles import LoopRV
from .primitives import Edit

#: Index of a value, or factors: the `decision=` of a step's text.
Taken = int | tuple[int, ...]


class CategoricalDecision(NamedTuple):
    """Choice of one of several numbers. Decisions are indices."""

    values: tuple[int, ...]
    default: int
    taken: int

    def refusal(self, taken: Taken) -> str:
        """Return why a decision is out of range, or an empty string."""
        if isinstance(taken, int) and 0 <= taken < len(self.values):
            return ""
        return f"the decision {_shown(taken)} is none of the {len(self.values)} numbers"


class TileDecision(NamedTuple):
    """Choice of factors with a product. Decisions are the factors, outermost first."""

    extent: int
    count: int
    #: Largest last factor.
    most_innermost: int
    default: tuple[int, ...]
    taken: tuple[int, ...]

    def refusal(self, taken: Taken) -> str:
        """Return why a decision is out of range, or an empty string."""
        factors = taken if isinstance(taken, tuple) else ()
        if len(factors) != self.count or any(each < 1 for each in factors) or prod(factors) != self.extent:
            return f"the decision {_shown(taken)} is not {self.count} numbers with the product {self.extent}"
        if self.count > 1 and factors[-1] > self.most_innermost:
            return f"the last factor of {_shown(taken)} exceeds max_innermost_factor={self.most_innermost}"
        return ""


Decision = CategoricalDecision | TileDecision


@dataclass
class Decider:
    """Source of the decisions of a rule's schedule: a search, or the defaults."""

    #: Decisions of a search, in the order of the steps. None: the defaults.
    wanted: tuple[Taken, ...] | None = None
    made: list[Decision] = field(default_factory=list)

    @overload
    def take(self, edit: Edit, decision: CategoricalDecision) -> int: ...

    @overload
    def take(self, edit: Edit, decision: TileDecision) -> tuple[int, ...]: ...

    def take(self, edit: Edit, decision: Decision) -> Taken:
        """Return the next decision, and record it. Refuse a missing decision, and one that is out of range."""
        taken: Taken = decision.default
        if self.wanted is not None:
            if len(self.made) >= len(self.wanted):
                edit.refuse(f"the rule asks for more decisions than the {len(self.wanted)} of the search")
            taken = self.wanted[len(self.made)]
            problem = decision.refusal(taken)
            if problem:
                edit.refuse(problem)
        self.made.append(decision._replace(taken=taken))  # type: ignore[arg-type]  # refusal has checked the type
        return taken


def _shown(taken: Taken) -> object:
    return list(taken) if isinstance(taken, tuple) else taken


# ---- factors of loops ----


def static_steps(edit: Edit, loop: LoopRV, count: int) -> int:
    """Return the number of steps of a loop that is split into factors. Refuses a dynamic number, and no factors."""
    found = edit.loop(loop)
    if not isinstance(found.extent, int):
        edit.refuse(f"'{found.name}' has {found.extent} steps, which is known at run time only")
    if count < 1:
        edit.refuse(f"expected at least one factor, got n = {count}")
    return found.extent


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, sorted."""
    small = [each for each in range(1, int(number**0.5) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})


def draw_factors(edit: Edit, extent: int, count: int, largest: int) -> list[int]:
    """Draw factors from the innermost on, each a divisor of the remaining extent."""
    factors: list[int] = []
    for place in range(count - 1):
        fitting = [each for each in divisors(extent) if place or each <= largest]
        factors.insert(0, edit.random.choice(fitting))
        extent //= factors[0]
    return [extent, *factors]


def check_factors(edit: Edit, decision: Sequence[int], count: int, extent: int) -> None:
    """Refuse factors that are not `count` numbers with the product `extent`."""
    problem = TileDecision(extent, count, extent, (), ()).refusal(tuple(decision))
    if problem:
        edit.refuse(problem)
