# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of schedules: numbers that a rule takes as they are by default, and that a search varies.

    sch = context.schedule(function)
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(j, sch.sample_perfect_tile(j, 2, max_innermost_factor=64, default=[None, 16]))

A search runs the rule again with other decisions (`passes/kernels/schedule/decided.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple, NoReturn, overload

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
    #: Number of factors.
    number: int
    #: Largest last factor.
    most_innermost: int
    default: tuple[int, ...]
    taken: tuple[int, ...]

    def refusal(self, taken: Taken) -> str:
        """Return why a decision is out of range, or an empty string."""
        factors = taken if isinstance(taken, tuple) else ()
        if len(factors) != self.number or any(factor < 1 for factor in factors) or prod(factors) != self.extent:
            return f"the decision {_shown(taken)} is not {self.number} numbers with the product {self.extent}"
        if self.number > 1 and factors[-1] > self.most_innermost:
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
    def take(self, decision: CategoricalDecision, refuse: Callable[[str], NoReturn]) -> int: ...

    @overload
    def take(self, decision: TileDecision, refuse: Callable[[str], NoReturn]) -> tuple[int, ...]: ...

    def take(self, decision: Decision, refuse: Callable[[str], NoReturn]) -> Taken:
        """Return the next decision, and record it. Refuse a missing decision, and one that is out of range."""
        taken: Taken = decision.default
        if self.wanted is not None:
            if len(self.made) >= len(self.wanted):
                refuse(f"the rule asks for more decisions than the {len(self.wanted)} of the search")
            taken = self.wanted[len(self.made)]
            if problem := decision.refusal(taken):
                refuse(problem)
        self.made.append(decision._replace(taken=taken))  # type: ignore[arg-type]  # refusal has checked the type
        return taken


def _shown(taken: Taken) -> object:
    return list(taken) if isinstance(taken, tuple) else taken
