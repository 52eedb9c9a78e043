# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's own plan beside rules of users: the first trial, and a winner that a program uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_tune import tune
from relax_mlir_tune.search import KernelSearch

#: Rules that measuring processes load, too.
RULES = [str(Path(__file__).with_name("slow_rules.py"))]


def product(dtype: str) -> rx.Module:
    with rx.Module() as module:
        weights = numpy.random.default_rng(0).integers(-9, 9, (96, 128)).astype(dtype)
        with module.function("main", {"x": rx.tensor((64, 96), dtype)}) as f:
            f.returns(relax.matmul(*f, relax.const(weights)))
    return module


@pytest.mark.parametrize("target", ["tune_slow", "tune_choosing"])
def test_the_compilers_plan_is_the_first_trial_and_wins(target: str, tmp_path: Path) -> None:
    module = product("int32")
    found = tune(module, target, trials=3, folder=tmp_path, plugins=RULES)
    (task,) = found.tasks
    assert task.search is not None and next(iter(task.search.outcomes)) == task.search.own
    assert task.note.startswith("the compiler's own plan takes 0.")
    assert "of the time of the registered rule; " in task.note
    assert task.winner is not None and task.winner.plans == task.search.own
    tuned, x = rx.compile(module, target, tuned=found), numpy.ones((64, 96), "int32")
    numpy.testing.assert_array_equal(tuned["main"](x), rx.compile(module, target)["main"](x))
    journal = rx.Journal()
    rx.compile(module, target, tuned=found, journal=journal)
    assert not any(fact["schedule"] in ("slow", "choosing") for fact in journal.of("schedule"))


def test_a_rule_that_declines_leaves_the_compilers_plan(tmp_path: Path) -> None:
    found = tune(product("float32"), "tune_plain", trials=2, folder=tmp_path, plugins=RULES)
    (task,) = found.tasks
    assert task.search is not None and not task.search.own  # the rule declines: the default is the compiler's own plan
    assert task.note == "2 trials" and not found.wrong


class _Few:
    """Space of a default and one other plan."""

    default, choices, machine = ("a",), ("x",), None

    def neighbour(self, plans: Any, random: Any) -> Any:
        return ("b",)

    def crossed(self, one: Any, other: Any, random: Any) -> Any:
        return one

    def features(self, plans: Any) -> list[float]:
        return [0.0]


@pytest.mark.parametrize(
    ("trials", "is_over", "end"), [(9, False, "no other plan found"), (1, False, "1 trials"), (9, True, "time over")]
)
def test_a_search_states_the_reason_of_its_end(trials: int, is_over: bool, end: str) -> None:
    from random import Random

    from relax_mlir_tune.measuring import Outcome

    search = KernelSearch(_Few(), Random(0))  # type: ignore[arg-type]

    def measure(plans: Any, turns: int) -> list[Outcome]:
        return [Outcome(each, ((1.0, 1.0),)) for each in plans]

    assert search.run(trials, measure, lambda: is_over) == end
