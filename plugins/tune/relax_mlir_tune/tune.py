# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.tune: search faster plans for the kernels of a module, and write winners to a folder."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import relax_mlir as rx
from relax_mlir.tuning import MachineFacts, Times, TunedKernel, cpu_name, planned

from .files import as_table
from .measuring import Job, Outcome
from .program import Choice, stages_of
from .program_search import ProgramTuning, tune_program
from .runners import DaskRunner, LocalRunner, Runner
from .search import Search, noise
from .space import Plans, Space
from .tasks import Task, tasks_of
from .trials import Trials

#: By effort: share of the trials, and least share of the program's time of a kernel that is tuned.
EFFORTS = {"quick": (0.25, 0.05), "full": (1.0, 0.01)}
_MICRO = 1e6


@dataclass(frozen=True)
class Progress:
    """State of the search after a trial."""

    kernel: str
    number: int
    kernels: int
    trial: int
    trials: int
    #: Best ratio to the default's time so far.
    best: float
    #: Seconds until the time limit.
    seconds_left: float | None = None


@dataclass
class TunedTask:
    """Kernel with what the search found."""

    task: Task
    #: Seconds of a call by the default plans.
    seconds: float
    #: Share of the time of all kernels.
    share: float
    search: Search | None = None
    winner: Outcome | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.winner.ratio if self.winner is not None else 1.0


@dataclass
class Tuning:
    """Result of a search."""

    tasks: list[TunedTask] = field(default_factory=list)
    folder: Path = Path()
    notes: list[str] = field(default_factory=list)
    #: Result of the search of the program's layouts and fusion.
    program: ProgramTuning | None = None

    @property
    def ratio(self) -> float:
        """Return the expected ratio of the time of all kernels to that by the default plans."""
        total = sum(each.share for each in self.tasks)
        return sum(each.share * each.ratio for each in self.tasks) / total if total else 1.0

    @property
    def wrong(self) -> list[Outcome]:
        """Return the trials with results that differ from the default's."""
        searches = (each.search for each in self.tasks if each.search is not None)
        return [outcome for search in searches for outcome in search.outcomes.values() if outcome.is_wrong]

    def table(self) -> str:
        """Return a line for each kernel."""
        rows: list[tuple[str, ...]] = [("kernel", "calls", "share", "default us", "tuned", "trials", "note")]
        for each in self.tasks:
            trials = str(len(each.search.outcomes)) if each.search is not None else "-"
            tuned = f"{each.ratio:.3f}" if each.winner is not None else "-"
            row = (each.task.name, str(each.task.calls), f"{each.share:.1%}", f"{each.seconds * _MICRO:.1f}")
            rows.append((*row, tuned, trials, each.note))
        program = self.program.lines() if self.program is not None else []
        total = f"all kernels: {self.ratio:.3f} of the default's time"
        return "\n".join([*program, as_table(rows) + total, *self.notes])


def tune(
    module: rx.Module,
    target: str = "llvm",
    *,
    trials: int = 64,
    effort: str = "full",
    minutes: float | None = None,
    scheduler: str | None = None,
    folder: str | os.PathLike[str] = "tuned",
    bind: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
    precision: str = "f32",
    threads: int = 1,
    graph: bool = False,
    inexact: bool = False,
    choices: Sequence[Choice] = (),
    seed: int = 0,
    progress: Callable[[Progress], object] | None = None,
) -> Tuning:
    """Search faster plans for the kernels of a module. Write each winner to a file in a folder.

    `rx.compile(module, tuned=folder)` uses the files. A winner has the default's results to the last bit, and is faster
    with a confidence of 99 %. All trials are kept in the folder, so that the next call continues with them.

    trials: plans per kernel. effort: "quick" for a quarter of them and only kernels of 5 % of the time, or "full".
    minutes: time limit. scheduler: address of a Dask scheduler; its workers measure. bind: values of symbolic
    sizes, as of rx.compile. sizes: values of symbolic sizes with which kernels of any size are measured.
    threads: threads of a call. graph: search layouts and fusion of the whole program first. inexact: with graph, also
    choices that change the last bits of results. choices: choices beside the registered ones.
    progress: a function that is called after each trial.
    """
    if effort not in EFFORTS:
        raise rx.OptionError(f"effort='{effort}' is unknown; expected one of {', '.join(EFFORTS)}")
    if trials < 1:
        raise rx.OptionError(f"trials={trials}: expected at least 1")
    share, least = EFFORTS[effort]
    deadline = time.monotonic() + 60 * minutes if minutes is not None else None
    program = None
    if graph:
        limits = max(int(trials * share), 1), minutes
        told = _program_progress(progress, limits[0])
        given = module, target, folder, limits, bind, sizes, precision, threads
        program = tune_program(*given, inexact, choices, told)
    tasks = tasks_of(module, target, bind, precision, stages_of(module, target, folder, bind, precision))
    if not tasks:
        raise rx.RelaxError(f"the module has no kernels to tune for target '{target}'")
    runner: Runner = DaskRunner(scheduler) if scheduler else LocalRunner()
    run = _Run(target, Path(folder), runner, threads, dict(sizes or {}), deadline, seed)
    try:
        found = run.timed(tasks)
        _check_measured(found, target)
        total = sum(each.seconds * each.task.calls for each in found) or 1.0
        for each in found:
            each.share = each.seconds * each.task.calls / total
        found.sort(key=lambda each: -each.share)
        chosen = [each for each in found if each.share >= least]
        for each in found[len(chosen) :]:
            each.note = each.note or f"less than {least:.0%} of the time"
        for number, each in enumerate(chosen):
            run.search(each, max(int(trials * share), 1), number, len(chosen), progress)
    finally:
        runner.close()
        run.trials.close()
    return Tuning(found, Path(folder), [*filter(None, [run.trials.problem])], program)


def _program_progress(
    progress: Callable[[Progress], object] | None, trials: int
) -> Callable[[str, int, float], object]:
    """Return a function that tells of the trials of a program."""
    if progress is None:
        return lambda name, trial, best: None
    return lambda name, trial, best: progress(Progress(f"program {name}", 0, 1, trial, trials, best))


def _check_measured(found: Sequence[TunedTask], target: str) -> None:
    """Raise RelaxError if no kernel can be measured."""
    if not any(each.seconds for each in found):
        raise rx.RelaxError(f"no kernel can be measured for target '{target}': @{found[0].task.name}: {found[0].note}")


class _Run:
    """One call of `tune`."""

    def __init__(
        self,
        target: str,
        folder: Path,
        runner: Runner,
        threads: int,
        sizes: Mapping[str, int],
        deadline: float | None,
        seed: int,
    ):
        self._target, self._folder, self._runner, self._threads = target, folder, runner, threads
        self._sizes, self._deadline, self._seed = tuple(sizes.items()), deadline, seed
        self.trials = Trials(folder, f"{cpu_name()} x{threads}")

    def _job(self, task: Task) -> Job:
        return Job(task.key, task.module.bytecode(), self._target, self._threads, self._sizes)

    def timed(self, tasks: list[Task]) -> list[TunedTask]:
        """Measure the default of each kernel."""
        found = []
        for task in tasks:
            unknown = task.unknown_sizes(dict(self._sizes))
            if unknown:
                found.append(TunedTask(task, 0.0, 0.0, note=f"the size {unknown[0]} has no value: pass it in sizes="))
                continue
            space = self._space(task)
            (outcome,) = self._runner.measured(self._job(task), [space.default], 3)
            times = [default for default, _ in outcome.turns]
            made = TunedTask(task, statistics.median(times) if times else 0.0, 0.0, note=outcome.problem)
            if not outcome.problem and space.choices:
                made.search = Search(space, Random(f"{self._seed} {task.key}"))
            elif not outcome.problem:
                made.note = "no plan to change"
            found.append(made)
        return found

    def _space(self, task: Task) -> Space:
        return Space(rx.lower(task.module, self._target, pipeline=planned(rx.stages(self._target))), self._target)

    def search(
        self,
        tuned: TunedTask,
        trials: int,
        number: int,
        count: int,
        progress: Callable[[Progress], object] | None,
    ) -> None:
        if tuned.search is None:
            return
        search, task, job = tuned.search, tuned.task, self._job(tuned.task)
        search.outcomes.update(self.trials.known(task.key))

        def measure(plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
            for outcome in self._runner.measured(job, plans, turns):
                self.trials.add(task.key, task.name, outcome)
                yield outcome
                if progress is not None:
                    left = self._deadline and self._deadline - time.monotonic()
                    best = min(search.best, 1.0)
                    progress(Progress(task.name, number, count, len(search.outcomes), trials, best, left))

        search.run(trials, measure, self._is_over)
        tuned.winner = search.winner(measure)
        if tuned.winner is not None:
            self._write(task, search, tuned.winner)

    def _is_over(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _write(self, task: Task, search: Search, winner: Outcome) -> None:
        default, tuned = (statistics.median(each) * _MICRO for each in zip(*winner.turns, strict=True))
        times = Times(round(default, 2), round(tuned, 2), round(noise(winner), 4))
        machine = MachineFacts.of(search.space.machine)
        kernel = TunedKernel(
            *(task.name, task.key, task.types, machine, winner.plans, search.space.default, times),
            trials=len(search.outcomes),
            cpu=cpu_name(),
        )
        kernel.write(self._folder)
