# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of a search with a clock that the test moves: its division among kernels, and interruptions."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_tune import Progress, budget, tune
from relax_mlir_tune.budget import Budget
from relax_mlir_tune.measuring import KernelJob, Outcome
from relax_mlir_tune.runners import LocalRunner
from relax_mlir_tune.space import Plans
from relax_mlir_tune.tool import run
from relax_mlir_tune.trials import searched_in


class Clock:
    """Clock that trials move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(budget, "now", made)
    return made


class Recorder:
    """Runner that records trials, and moves a clock by a second for each. The k-th kernel takes `times[k]` seconds."""

    def __init__(self, clock: Clock, times: Sequence[float]) -> None:
        self._clock, self._times = clock, times
        self._keys: list[str] = []
        self.trials: list[str] = []
        self.stop_after: int | None = None

    def measured(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        if job.key not in self._keys:
            self._keys.append(job.key)
            seconds = self._times[len(self._keys) - 1]
            return iter([Outcome(each, ((seconds, seconds),) * turns) for each in plans])
        return self._trials(job, plans, turns)

    def _trials(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        for number, each in enumerate(plans):
            if self.stop_after is not None and len(self.trials) >= self.stop_after:
                raise KeyboardInterrupt
            self._clock.now += 1
            self.trials.append(job.key)
            yield Outcome(each, ((1.0, 0.9 - 0.001 * number),) * turns)


def products(sizes: Sequence[int]) -> rx.Module:
    """Return a module with a product for each size."""
    draw = numpy.random.default_rng(0)
    with rx.Module() as module, module.function("main", {"x": rx.tensor((16, sizes[0]))}) as f:
        (value,) = f
        for rows, columns in pairwise(sizes):
            weights = relax.const(draw.standard_normal((rows, columns)).astype("float32"))
            value = relax.nn.relu(relax.matmul(value, weights))
        f.returns(value)
    return module


@pytest.fixture
def recorder(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[float]], Recorder]:
    def made(times: Sequence[float]) -> Recorder:
        recorder = Recorder(clock, times)
        monkeypatch.setattr(
            LocalRunner, "measured", lambda self, job, plans, turns: recorder.measured(job, plans, turns)
        )
        return recorder

    return made


def test_kernels_divide_the_time_by_their_share(
    recorder: Callable[[Sequence[float]], Recorder], tmp_path: Path
) -> None:
    found = recorder([7.0, 2.0, 1.0])
    tune(products([32, 48, 64, 80]), trials=1000, minutes=2, folder=tmp_path)
    counts = list(Counter(found.trials).values())
    # 120 trials of a second, and three finalists of each kernel. A search without gains ends after 40 trials.
    assert len(counts) == 3 and all(each > 8 for each in counts)
    assert sum(counts) <= 120 + 9
    assert counts[0] >= counts[1] >= counts[2]


def test_a_large_first_kernel_leaves_time_for_all(
    recorder: Callable[[Sequence[float]], Recorder], tmp_path: Path
) -> None:
    found = recorder([90.0, 6.0, 4.0])
    result = tune(products([32, 48, 64, 80]), trials=30, minutes=0.5, folder=tmp_path)
    counts = list(Counter(found.trials).values())
    assert len(counts) == 3 and counts[0] >= 20
    assert all(each.search is not None and each.search.outcomes for each in result.tasks)


def test_time_that_a_kernel_leaves_goes_to_the_next(clock: Clock) -> None:
    divided = Budget(100.0)
    divided.begin(0.5, 1.0)
    clock.now = 10.0  # of 50
    divided.begin(0.25, 0.5)
    clock.now = 48.0
    assert not divided.is_over()
    clock.now = 48.5  # 0.85 of half of the 90 s that were left
    assert divided.is_over() and divided.seconds_left == 51.5
    divided.begin(0.25, 0.25)
    assert not divided.is_over()
    clock.now = 100.0
    assert divided.is_over() and divided.seconds_left == 0.0


def test_without_a_limit_the_time_is_never_over(clock: Clock) -> None:
    endless = Budget(None)
    endless.begin(0.1, 1.0)
    clock.now = 1e9
    assert not endless.is_over() and endless.seconds_left is None


def test_progress_has_the_whole_program_and_the_time_left(
    recorder: Callable[[Sequence[float]], Recorder], tmp_path: Path
) -> None:
    recorder([3.0, 1.0])
    told: list[Progress] = []
    tune(products([32, 48, 64]), trials=8, folder=tmp_path, progress=told.append)
    assert {each.kernels for each in told} == {2} and {each.number for each in told} == {0, 1}
    # The first kernel has three quarters of the time.
    assert min(each.whole for each in told if each.number == 0) == pytest.approx(
        1 - 0.75 * (1 - told[0].best), abs=0.02
    )
    assert told[-1].whole < 0.91
    assert all(each.seconds_left is not None for each in told)


def test_an_interrupted_search_tells_what_was_found(
    recorder: Callable[[Sequence[float]], Recorder], tmp_path: Path
) -> None:
    recorder([3.0, 1.0]).stop_after = 15  # the first kernel has 8 trials and 3 finalists
    model, folder, page = tmp_path / "model.mlir", tmp_path / "tuned", tmp_path / "report.html"
    model.write_text(str(products([32, 48, 64])))
    stdout, stderr = io.StringIO(), io.StringIO()
    arguments = [str(model), "-o", str(folder), "--trials", "8", "--report", str(page)]
    assert run(arguments, stdout, stderr) == 130
    assert "all kernels: 0.92" in stdout.getvalue() and "stopped" in stdout.getvalue()
    assert "the same command continues" in stderr.getvalue() and "Traceback" not in stderr.getvalue()
    assert len(list(folder.glob("*.json"))) == 1 and page.is_file()
    assert sum(len(each.outcomes) for each in searched_in(folder)[0]) == 15


@pytest.mark.parametrize("minutes", [0, -1.0, float("nan")])
def test_a_limit_is_positive(minutes: float, tmp_path: Path) -> None:
    with pytest.raises(rx.OptionError, match=r"minutes=.*: expected more than 0"):
        tune(products([32, 48]), minutes=minutes, folder=tmp_path)
