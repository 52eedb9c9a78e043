# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.tune: search faster plans for the kernels of a module, and write winners to a folder."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import relax_mlir as rx
from relax_mlir.compilation.schedules import planned
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times, TunedKernel
from relax_mlir.support.plugins import load_plugin, named_plugins
from relax_mlir.targets.core.registry import parse_target

from .budget import Budget
from .decided import own_plans
from .decisions import has_decisions, schedule_of, space_of
from .files import as_table, kernels_in
from .measuring import KernelJob, Outcome
from .neighbours import neighbouring_plans, structure_of
from .program import Choice, stages_of
from .program_search import ProgramTuning, tune_program
from .runners import Runner, runner_for
from .search import KernelSearch, noise
from .space import Plans, SearchSpace, Space
from .tasks import Task, tasks_of
from .trials import Searched, Trials

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
    #: Ratio of the time of all kernels to the default's so far.
    whole: float = 1.0
    #: Seconds until the time limit; without one, until the remaining trials end, if they take as long as those so far.
    seconds_left: float | None = None


@dataclass
class TunedTask:
    """Kernel with what the search found."""

    task: Task
    #: Seconds of a call by the default plans.
    seconds: float
    #: Share of the time of all kernels.
    share: float
    search: KernelSearch | None = None
    winner: Outcome | None = None
    note: str = ""
    #: True until the search of the kernel ends: its best trial so far counts.
    is_open: bool = False

    @property
    def ratio(self) -> float:
        if self.is_open and self.search is not None:
            return min(self.search.best, 1.0)
        return self.winner.ratio if self.winner is not None else 1.0


@dataclass
class Tuning:
    """Result of a search."""

    tasks: list[TunedTask] = field(default_factory=list)
    folder: Path = Path()
    notes: list[str] = field(default_factory=list)
    #: Result of the search of the program's layouts and fusion.
    program: ProgramTuning | None = None

    def __fspath__(self) -> str:
        """Return the folder: `rx.compile(module, tuned=rx.tune(module))`."""
        return str(self.folder)

    @property
    def ratio(self) -> float:
        """Return the expected ratio of the time of all kernels to that by the default plans."""
        total = sum(task.share for task in self.tasks)
        return sum(task.share * task.ratio for task in self.tasks) / total if total else 1.0

    @property
    def wrong(self) -> list[Outcome]:
        """Return the trials with results that differ from the default's."""
        searches = (task.search for task in self.tasks if task.search is not None)
        return [outcome for search in searches for outcome in search.outcomes.values() if outcome.is_wrong]

    def stop(self) -> None:
        """Leave out the kernel of an interrupted search: its best trial was not measured again."""
        for task in self.tasks:
            if task.is_open:
                task.is_open, task.note = False, "stopped"

    def table(self) -> str:
        """Return a line for each kernel."""
        rows: list[tuple[str, ...]] = [("kernel", "calls", "share", "default us", "tuned", "trials", "note")]
        for task in self.tasks:
            trials = str(len(task.search.outcomes)) if task.search is not None else "-"
            tuned = f"{task.ratio:.3f}" if task.winner is not None else "-"
            row = (task.task.name, str(task.task.calls), f"{task.share:.1%}", f"{task.seconds * _MICRO:.1f}")
            rows.append((*row, tuned, trials, task.note))
        program = self.program.lines() if self.program is not None else []
        total = f"all kernels: {self.ratio:.3f} of the default's time"
        return "\n".join([*program, as_table(rows) + total, *self.notes])


class Stopped(KeyboardInterrupt):
    """Interruption of a search, with what was found."""

    def __init__(self, found: Tuning) -> None:
        super().__init__()
        self.found = found


def tune(
    module: rx.Module,
    target: str = "llvm",
    *,
    trials: int = 64,
    effort: str = "full",
    minutes: float | None = None,
    scheduler: str | None = None,
    board: str | None = None,
    runner: Runner | None = None,
    folder: str | os.PathLike[str] = "tuned",
    bind: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
    precision: str = "f32",
    threads: int = 1,
    graph: bool = False,
    inexact: bool = False,
    choices: Sequence[Choice] = (),
    seed: int = 0,
    plugins: Sequence[str] = (),
    progress: Callable[[Progress], object] | None = None,
) -> Tuning:
    """Search faster plans for the kernels of a module. Write each winner to a file in a folder.

    `rx.compile(module, tuned=folder)` uses the files, and takes the result of this function as their folder. A winner
    has the default's results to the last bit, and is faster with a confidence of 99 %. Where a user or another package
    has registered a schedule, the compiler's own plan is the first trial. All trials are kept in the folder, so that
    the next call continues with them.

    trials: plans per kernel. effort: "quick" for a quarter of them and only kernels of 5 % of the time, or "full".
    minutes: time limit, which kernels divide by their share of the program's time. scheduler: address of a Dask
    scheduler; its workers measure. board: name or tag of the workers that measure; the others compile. runner: another
    object that measures. bind: values of symbolic sizes, as of rx.compile. sizes: values of symbolic sizes with which
    kernels of any size are measured. threads: threads of a call. graph: search layouts and fusion of the whole program
    first. inexact: with graph, also choices that change the last bits of results. choices: choices beside the
    registered ones. plugins: modules or files that register the target, as of --load-plugin; measuring processes load
    them, too. progress: a function that is called after each trial.
    """
    if effort not in EFFORTS:
        raise rx.OptionError(f"effort='{effort}' is unknown; expected one of {', '.join(EFFORTS)}")
    if trials < 1:
        raise rx.OptionError(f"trials={trials}: expected at least 1")
    if minutes is not None and not minutes > 0:
        raise rx.OptionError(f"minutes={minutes}: expected more than 0")
    for plugin in plugins:
        load_plugin(plugin)
    share, least = EFFORTS[effort]
    budget = Budget(None if minutes is None else 60 * minutes)
    program = None
    if graph:
        limits = max(int(trials * share), 1), minutes
        told = _program_progress(progress, limits[0])
        given = module, target, folder, limits, bind, sizes, precision, threads
        program = tune_program(*given, inexact, choices, told)
    tasks = tasks_of(module, target, bind, precision, stages_of(module, target, folder, bind, precision))
    if not tasks:
        raise rx.RelaxError(f"the module has no kernels to tune for target '{target}'")
    _check_folder(Path(folder))
    with contextlib.closing(runner or runner_for(scheduler, board)) as runner:
        run = _TuningRun(target, Path(folder), runner, threads, dict(sizes or {}), budget, seed)
        found = Tuning(folder=Path(folder), program=program)
        try:
            found.tasks = run.timed(tasks)
            _check_measured(found.tasks, target)
            run.search_all(found, _choose(found.tasks, least), max(int(trials * share), 1), progress)
        except KeyboardInterrupt:
            found.stop()
            raise Stopped(found) from None
        finally:
            run.trials.close()
            found.notes = [*filter(None, [run.trials.problem, *run.notes]), *runner.notes]
    return found


def _describe_comparison(search: KernelSearch) -> str:
    """Return how the compiler's own plan compares with the rule that a user has registered."""
    if (own := search.outcomes.get(search.own)) is None:
        return ""
    if own.problem:
        return f"the compiler's own plan: {own.problem}"
    return f"the compiler's own plan takes {own.ratio:.3f} of the time of the registered rule"


def _check_folder(folder: Path) -> None:
    """Raise RelaxError before a search if its winners cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise rx.RelaxError(f"tuned kernels cannot be written to '{folder}': {error.strerror}") from None


def _program_progress(
    progress: Callable[[Progress], object] | None, trials: int
) -> Callable[[str, int, float], object]:
    """Return a function that tells of the trials of a program."""
    if progress is None:
        return lambda name, trial, best: None
    return lambda name, trial, best: progress(Progress(f"program {name}", 0, 1, trial, trials, best, best))


def _check_measured(tuned_tasks: Sequence[TunedTask], target: str) -> None:
    """Raise RelaxError if no kernel can be measured."""
    if not any(tuned_task.seconds for tuned_task in tuned_tasks):
        raise rx.RelaxError(
            f"no kernel can be measured for target '{target}': @{tuned_tasks[0].task.name}: {tuned_tasks[0].note}"
        )


def _choose(tuned_tasks: list[TunedTask], least: float) -> list[TunedTask]:
    """Sort kernels by their share of the time. Return those with a share of at least `least`."""
    total = sum(each.seconds * each.task.calls for each in tuned_tasks) or 1.0
    for tuned_task in tuned_tasks:
        tuned_task.share = tuned_task.seconds * tuned_task.task.calls / total
    tuned_tasks.sort(key=lambda each: -each.share)
    chosen = [each for each in tuned_tasks if each.share >= least]
    for task in tuned_tasks[len(chosen) :]:
        task.note = task.note or f"less than {least:.0%} of the time"
    return [each for each in chosen if each.search is not None]


class _TuningRun:
    """One call of `tune`."""

    def __init__(
        self,
        target: str,
        folder: Path,
        runner: Runner,
        threads: int,
        sizes: Mapping[str, int],
        budget: Budget,
        seed: int,
    ):
        self._target, self._folder, self._runner, self._threads = target, folder, runner, threads
        self._sizes, self._budget, self._seed = tuple(sizes.items()), budget, seed
        self._cpu = runner.cpu()
        self.trials = Trials(folder, f"{self._cpu} x{threads}")
        self.notes: list[str] = []
        self._measured, self._start = 0, time.monotonic()

    def _job(self, task: Task) -> KernelJob:
        return KernelJob(task.key, task.module.bytecode(), self._target, self._threads, self._sizes, named_plugins())

    def timed(self, tasks: list[Task]) -> list[TunedTask]:
        """Measure the default of each kernel."""
        found = []
        for task in tasks:
            if unknown := task.unknown_sizes(dict(self._sizes)):
                found.append(TunedTask(task, 0.0, 0.0, note=f"the size {unknown[0]} has no value: pass it in sizes="))
                continue
            space = self._space(task)
            (outcome,) = self._runner.measured(self._job(task), [space.default], 3)
            times = [default for default, _ in outcome.turns]
            tuned_task = TunedTask(task, statistics.median(times) if times else 0.0, 0.0, note=outcome.problem)
            own = own_plans(task.module, self._target)
            own = () if own == space.default else own
            if not outcome.problem and (space.choices or own):
                tuned_task.search = KernelSearch(
                    space, Random(f"{self._seed} {task.key}"), width=self._runner.width, own=own
                )
            elif not outcome.problem:
                tuned_task.note = "no plan and no decision to change"
            found.append(tuned_task)
        return found

    def _space(self, task: Task) -> SearchSpace:
        lowered = rx.lower(task.module, self._target, pipeline=planned(rx.stages(self._target)))
        return space_of(task.module, lowered, self._target)

    def search_all(
        self, tuning: Tuning, chosen: Sequence[TunedTask], trials: int, progress: Callable[[Progress], object] | None
    ) -> None:
        """Search the plans of kernels, one after another. Each has its part of the time."""
        self._start = time.monotonic()
        for number, tuned in enumerate(chosen):
            self._budget.begin(tuned.share, sum(tuned_task.share for tuned_task in chosen[number:]) or 1.0)

            def tell(tuned: TunedTask = tuned, number: int = number) -> None:
                if progress is not None:
                    progress(self._progress(tuning, tuned, number, chosen, trials))

            self._search(tuned, trials, tell)

    def _progress(
        self, tuning: Tuning, tuned: TunedTask, number: int, chosen: Sequence[TunedTask], trials: int
    ) -> Progress:
        assert tuned.search is not None
        count, best = len(tuned.search.outcomes), min(tuned.search.best, 1.0)
        if (left := self._budget.seconds_left) is None:
            tensor = (time.monotonic() - self._start) / max(self._measured, 1)
            left = tensor * (max(trials - count, 0) + trials * (len(chosen) - number - 1))
        return Progress(tuned.task.name, number, len(chosen), count, trials, best, tuning.ratio, left)

    def _search(self, tuned: TunedTask, trials: int, tell: Callable[[], None]) -> None:
        search, task, job = tuned.search, tuned.task, self._job(tuned.task)
        assert search is not None
        structure = structure_of(task.module)
        search.outcomes.update(self.trials.known(task.key))
        search.first = self._neighbours(search.space, task, structure)
        self.trials.add_kernel(Searched(task.key, "", task.name, search.space.default, tuned.seconds, task.calls))

        def measure(plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
            for outcome in self._runner.measured(job, plans, turns):
                if outcome.plans == search.own and outcome.is_wrong:
                    # A rule may sum in another order: this is no fault of a trial.
                    outcome = replace(
                        outcome, is_wrong=False, problem="its bits differ from those of the registered rule"
                    )
                self.trials.add(task.key, task.name, outcome)
                self._measured += 1
                yield outcome
                tell()

        tuned.is_open = True
        end = search.run(trials, measure, self._budget.is_over)
        tuned.winner = search.winner(measure)
        tuned.is_open = False
        tuned.note = "; ".join(filter(None, [_describe_comparison(search), end]))
        if tuned.winner is not None:
            self._write(task, structure, search, tuned.winner)

    def _neighbours(self, space: SearchSpace, task: Task, structure: str) -> list[Plans]:
        if not isinstance(space, Space) or not space.fits_neighbours:
            return []  # decisions of rules fit one kernel only
        kernels, problems = kernels_in(self._folder)
        self.notes += [problem for problem in problems if problem not in self.notes]
        return neighbouring_plans(space, task.key, structure, task.types, kernels)

    def _write(self, task: Task, structure: str, search: KernelSearch, winner: Outcome) -> None:
        before, after = (statistics.median(each) * _MICRO for each in zip(*winner.turns, strict=True))
        times = Times(round(before, 2), round(after, 2), round(noise(winner), 4))
        machine = MachineFacts.of(search.space.machine)
        plans = () if has_decisions(winner.plans) else winner.plans
        # Similar kernels adapt what a search changed, but not the compiler's own plan.
        default = plans if has_decisions(search.space.default) or plans == search.own else search.space.default
        kernel = TunedKernel(
            *(task.name, task.key, task.types, machine, plans, default, times),
            trials=len(search.outcomes),
            cpu=self._cpu,
            structure=structure,
        )
        if has_decisions(winner.plans):
            schedule = schedule_of(task.module, self._target, winner.plans)
            name = parse_target(self._target).name
            kernel = replace(kernel, steps=schedule.steps, target=name, rule=schedule.rule, decisions=schedule.taken)
        try:
            kernel.write(self._folder)
        except (OSError, rx.RelaxError) as error:
            reason = error.message if isinstance(error, rx.RelaxError) else error.strerror
            self.notes.append(f"@{task.name}: its plans cannot be written to '{self._folder}': {reason}")
