# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Space of a kernel that a rule schedules by steps: the decisions of the rule."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from random import Random

import relax_mlir as rx
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.kernels.loops.decisions import CategoricalDecision, Decision, Taken, TileDecision
from relax_mlir.passes.kernels.schedule.decided import DecidedSchedule
from relax_mlir.passes.kernels.schedule.tuned_steps import use_steps

from .block_space import plan_space
from .decided import decided_schedule
from .space import Plans, SearchSpace, machine_of

#: First text of a point that has decisions in place of plans. The rule's name follows, then a text for each decision.
_HEADER = "decisions"
#: Draws of a mutation before decisions count as ones without neighbours.
_DRAWS = 40


class DecisionSpace:
    """Decisions of the rule that schedules a kernel, beginning with the defaults."""

    def __init__(self, made: DecidedSchedule, machine: rx.Machine):
        """Take the rule's schedule by default."""
        self._rule, self.choices, self._machine = made.rule, made.decisions, machine
        self.default: Plans = point_of(made.rule, made.taken)

    @property
    def machine(self) -> rx.Machine:
        return self._machine

    def neighbour(self, plans: Plans, random: Random) -> Plans | None:
        """Return a point with one or more other decisions, or None if there is none."""
        _, taken = decisions_of(plans)
        for _ in range(_DRAWS):
            changed = list(taken)
            for _ in range(random.choice((1, 1, 2, 3))):
                place = random.randrange(len(changed))
                changed[place] = _other(self.choices[place], changed[place], random)
            if (point := point_of(self._rule, changed)) != plans:
                return point
        return None

    def crossed(self, one: Plans, other: Plans, random: Random) -> Plans:
        """Return a point with each decision from one of two."""
        return tuple(random.choice(pair) for pair in zip(one, other, strict=True))

    def features(self, plans: Plans) -> list[float]:
        """Return numbers that describe decisions, for a model of their times."""
        _, taken = decisions_of(plans)
        pairs = zip(self.choices, taken, strict=True)
        return [number for decision, each in pairs for number in _numbers(decision, each)]


def space_of(module: rx.Module, planned: rx.Module, target: str) -> SearchSpace:
    """Return the space of a kernel: the decisions of its rule, else its plans.

    `module` has the kernel before the target's rules, `planned` with its plans.
    """
    if (schedule := decided_schedule(module, target)) is not None and schedule.decisions:
        return DecisionSpace(schedule, machine_of(target))
    return plan_space(planned, target)


def point_of(rule: str, taken: Sequence[Taken]) -> Plans:
    """Return the point of a rule's decisions."""
    return (_HEADER, rule, *(json.dumps(each) for each in taken))


def has_decisions(plans: Plans) -> bool:
    """Return True if a point has decisions in place of plans."""
    return plans[:1] == (_HEADER,)


def decisions_of(plans: Plans) -> tuple[str, tuple[Taken, ...]]:
    """Return the rule of a point, and its decisions. Raise RelaxError for a damaged point."""
    try:
        _, rule, *texts = plans
        read = [json.loads(text) for text in texts]
        return rule, tuple(tuple(map(int, each)) if isinstance(each, list) else int(each) for each in read)
    except (ValueError, TypeError):
        raise rx.RelaxError(f"'{' '.join(plans)}' has no decisions of a rule") from None


def schedule_of(module: rx.Module, target: str, plans: Plans) -> DecidedSchedule:
    """Return the schedule of a kernel with the decisions of a point. Raise RelaxError if the rule refuses them."""
    schedule = decided_schedule(module, target, *decisions_of(plans))
    assert schedule is not None
    return schedule


def schedule_kernel(module: rx.Module, target: str, plans: Plans) -> None:
    """Set the schedule of a module's kernel. Raise RelaxError if the rule refuses the decisions."""
    schedule = schedule_of(module, target, plans)
    (function,) = prim_funcs_in(module.operation)
    use_steps(function, schedule.steps)


# ---- decisions as numbers ----


def _other(decision: Decision, taken: Taken, random: Random) -> Taken:
    """Return a decision near another one, or any."""
    if isinstance(decision, TileDecision):
        assert isinstance(taken, tuple)
        return _move_factor(decision, taken, random)
    assert isinstance(taken, int)
    near = (taken - 1, taken + 1, random.randrange(len(decision.values)))
    return min(max(random.choice(near), 0), len(decision.values) - 1)


def _move_factor(decision: TileDecision, taken: tuple[int, ...], random: Random) -> tuple[int, ...]:
    """Move a prime factor from one factor to another, unless the last factor becomes too large."""
    if not (sources := [place for place, factor in enumerate(taken) if factor > 1]) or len(taken) < 2:
        return taken
    source = random.choice(sources)
    target = random.choice([place for place in range(len(taken)) if place != source])
    prime = random.choice([number for number in _primes(taken[source])])
    factors = list(taken)
    factors[source] //= prime
    factors[target] *= prime
    return taken if factors[-1] > decision.most_innermost else tuple(factors)


def _primes(number: int) -> list[int]:
    """Return the distinct prime factors of a number above 1."""
    found, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            found.append(divisor)
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    return [*found, *([number] if number > 1 else [])]


def _numbers(decision: Decision, taken: Taken) -> list[float]:
    if isinstance(decision, CategoricalDecision):
        assert isinstance(taken, int)
        value = decision.values[taken]
        return [float(taken), math.log2(value) if value > 0 else float(value)]
    assert isinstance(taken, tuple)
    return [math.log2(each) for each in taken]
