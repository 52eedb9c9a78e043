# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search of a kernel's plans: evolution, guided by a model of the measured times, with a rank test at the end."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from .measuring import Outcome
from .space import Plans, SearchSpace
from .times_model import TimesModel

#: Trials of a round, plans that are drawn for each trial of it, and drawn ones that the model does not choose.
_ROUND, _DRAWN, _FREE = 8, 8, 2
#: Measured plans with neighbours that are drawn, and the share of draws that combine two of them.
_PARENTS, _CROSSED = 6, 0.15
#: A search ends after this many trials without a gain of `_GAIN`.
_PATIENCE, _GAIN = 40, 0.01
#: Plans that are measured again at the end, with this many turns.
_FINALISTS, FINAL_TURNS = 3, 31
#: A winner takes at most this share of the default's time, with at least this confidence.
MOST_RATIO, CONFIDENCE = 0.98, 0.99

#: Measures plans with a number of turns.
Measure = Callable[[Sequence[Plans], int], Iterable[Outcome]]


@dataclass
class KernelSearch:
    """Search of one kernel."""

    space: SearchSpace
    random: Random
    #: Outcomes so far, also of an earlier search of the same kernel.
    outcomes: dict[Plans, Outcome] = field(default_factory=dict)
    #: Plans to measure first, of similar kernels.
    first: Sequence[Plans] = ()
    #: Number of trials at once. A round has two for each.
    width: int = 1
    #: Plans of the compiler's own rules, where the default is the plan of another rule: the first trial.
    own: Plans = ()

    @property
    def best(self) -> float:
        return min((outcome.ratio for outcome in self.outcomes.values()), default=1.0)

    def run(self, trials: int, measure: Measure, is_over: Callable[[], bool]) -> str:
        """Measure plans until there are `trials`, no plan is left, or the time is over, but one at least.

        Return why the search ends.
        """
        since, best = 0, min(self.best, 1.0)
        while len(self.outcomes) < trials:
            if since >= _PATIENCE:
                return f"no gain in {_PATIENCE} trials"
            if not (batch := self._next(min(max(_ROUND, 2 * self.width), trials - len(self.outcomes)))):
                return "no other plan found"
            for outcome in measure(batch, 3):
                self.outcomes[outcome.plans] = outcome
                since += 1
                if outcome.ratio < best * (1 - _GAIN):
                    since, best = 0, outcome.ratio
                if is_over():
                    return "time over"
        return f"{trials} trials"

    def winner(self, measure: Measure) -> Outcome | None:
        """Measure the best plans again. Return the fastest that is faster than the default with confidence."""
        faster = [outcome for outcome in self.outcomes.values() if outcome.ratio < MOST_RATIO]
        finalists = sorted(faster, key=lambda each: each.ratio)[:_FINALISTS]
        if not finalists:
            return None
        again = [each for each in measure([finalist.plans for finalist in finalists], FINAL_TURNS) if is_faster(each)]
        return min(again, key=lambda each: each.ratio, default=None)

    def _next(self, count: int) -> list[Plans]:
        """Return the plans of the next round: most by the model, a few of the drawn ones without it."""
        first = [each for each in (self.own, *self.first) if each and each not in self.outcomes][:count]
        if first or not self.space.choices:
            return first
        drawn = self._draw(count * _DRAWN)
        free = drawn[: min(_FREE, count)]
        known = [outcome for outcome in self.outcomes.values() if outcome.plans != self.own]
        model = TimesModel.of([(self.space.features(each.plans), each.ratio) for each in known])
        if model is None:
            return drawn[:count]
        rest = sorted(drawn[len(free) :], key=lambda plans: model.predicted(self.space.features(plans)))
        return [*free, *rest[: count - len(free)]]

    def _draw(self, count: int) -> list[Plans]:
        known = (outcome for outcome in self.outcomes.values() if outcome.turns and outcome.plans != self.own)
        measured = sorted(known, key=lambda each: each.ratio)
        parents = [self.space.default, *(each.plans for each in measured[:_PARENTS])]
        found: dict[Plans, None] = {}
        for _ in range(count * 3):
            parent = self.random.choice(parents)
            if self.random.random() < _CROSSED:
                parent = self.space.crossed(parent, self.random.choice(parents), self.random)
            plans = self.space.neighbour(parent, self.random)
            if plans is not None and plans not in self.outcomes:
                found[plans] = None
            if len(found) == count:
                break
        return list(found)


def is_faster(outcome: Outcome) -> bool:
    """Check that plans are faster than the default: by the median, and by a sign test of the turns."""
    return bool(outcome.turns) and outcome.ratio < MOST_RATIO and confidence(outcome) >= CONFIDENCE


def confidence(outcome: Outcome) -> float:
    """Return the probability that as many faster turns are no chance (a one-sided sign test)."""
    count = len(outcome.turns)
    faster = sum(tuned < default for default, tuned in outcome.turns)
    return 1 - sum(math.comb(count, index) for index in range(faster, count + 1)) / 2**count


def noise(outcome: Outcome) -> float:
    """Return the median deviation of the turns' ratios from their median."""
    ratios = [tuned / default for default, tuned in outcome.turns]
    return statistics.median(abs(ratio - outcome.ratio) for ratio in ratios)
