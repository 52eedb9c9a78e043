# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search itself, with made times: it finds good plans in few trials, ends early, and asks for confidence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random

import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.schedules import planned
from relax_mlir.passes.kernels.schedule.plan import parse_plan
from relax_mlir_tune.measuring import Outcome
from relax_mlir_tune.search import KernelSearch, confidence, is_faster
from relax_mlir_tune.space import Plans, Space
from relax_mlir_tune.tasks import tasks_of

TARGET = "llvm{cpu=haswell}"


@pytest.fixture(scope="module")
def space() -> Space:
    with rx.Module() as module:
        with module.function("main", {"x": rx.tensor((64, 96)), "w": rx.tensor((96, 80))}) as f:
            x, w = f
            f.returns(relax.nn.relu(relax.matmul(x, w)))
        (task,) = tasks_of(module, TARGET)
        lowered = rx.lower(task.module, TARGET, pipeline=planned(rx.stages(TARGET)))
    return Space(lowered, TARGET)


def seconds(plans: Plans) -> float:
    """Return a time that is least for 4 x 2 points, with blocks of 32 rows."""
    plan = next(plan for text in plans if (plan := parse_plan(text)) and hasattr(plan, "tile"))
    points = math.prod(plan.tile.values())
    length = dict(plan.blocks).get(0, 64)
    return 1e-4 * (1 + abs(math.log2(points / 8)) / 4 + abs(math.log2(length / 32)) / 8)


class Made:
    """Measures with `seconds`."""

    def __init__(self, space: Space) -> None:
        self.default, self.count = seconds(space.default), 0

    def __call__(self, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        for each in plans:
            self.count += 1
            yield Outcome(each, ((self.default, seconds(each)),) * turns)


def test_neighbours_fit_and_differ(space: Space) -> None:
    random, found = Random(0), set()
    for _ in range(100):
        plans = space.neighbour(space.default, random)
        assert plans is not None and plans != space.default
        found.add(plans)
    assert len(found) > 40


def test_few_trials_find_a_good_plan(space: Space) -> None:
    found = []
    for seed in range(8):
        measure = Made(space)
        search = KernelSearch(space, Random(seed))
        search.run(48, measure, lambda: False)
        assert len(search.outcomes) <= 48 and measure.count == len(search.outcomes)
        found.append(search.best * measure.default / 1e-4)
    # Random walks of the same number reach 1.20 in the median of 16 seeds, this search 1.09.
    assert sorted(found)[4] < 1.13, found


def test_a_search_without_gains_ends_early(space: Space) -> None:
    search = KernelSearch(space, Random(0))
    search.run(1000, lambda plans, turns: (Outcome(each, ((1.0, 1.0),)) for each in plans), lambda: False)
    assert 40 <= len(search.outcomes) < 60


def test_a_search_ends_with_the_time(space: Space) -> None:
    search = KernelSearch(space, Random(0))
    search.run(1000, Made(space), lambda: len(search.outcomes) >= 8)
    assert len(search.outcomes) == 8


def test_wrong_and_refused_plans_never_win(space: Space) -> None:
    search = KernelSearch(space, Random(0))
    search.run(24, lambda plans, turns: (Outcome(each, is_wrong=True, problem="differs") for each in plans), bool)
    assert len(search.outcomes) == 24 and search.best == math.inf
    assert search.winner(Made(space)) is None


@pytest.mark.parametrize(("faster", "expected"), [(31, True), (24, True), (20, False), (16, False), (0, False)])
def test_a_winner_needs_confidence(faster: int, expected: bool) -> None:
    turns = ((1.0, 0.9),) * faster + ((1.0, 1.05),) * (31 - faster)
    outcome = Outcome((), turns)
    assert is_faster(outcome) == expected
    assert (confidence(outcome) > 0.99) == expected


def test_a_small_gain_is_no_winner() -> None:
    assert not is_faster(Outcome((), ((1.0, 0.99),) * 31))
    assert not is_faster(Outcome((), ()))
