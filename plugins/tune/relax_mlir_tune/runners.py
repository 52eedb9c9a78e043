# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runners of trials: a process on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import relax_mlir as rx
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir_cluster.cluster import Cluster, RemoteCall
from relax_mlir_cluster.limited_process import Answer, LimitedProcess
from relax_mlir_cluster.remote_calls import ProgramMissing, compare_programs

from .measuring import DIFFERENT, Built, KernelJob, Outcome, build, measure, reason_of
from .space import Plans

#: Seconds of a trial, after which its process is ended, and bytes of memory of a process.
_LIMIT_S = 60.0
_MEMORY = 8 << 30
#: Seconds of a process's first call, which imports and compiles the default.
_START_S = 600.0

T = TypeVar("T")


class TrialLost(Exception):
    """Reason why a process has no result of a trial."""


class Runner(Protocol):
    """Measures plans of a kernel."""

    @property
    def width(self) -> int:
        """Return the number of trials at once."""

    @property
    def notes(self) -> Sequence[str]:
        """Return sentences for the report of the search."""

    def cpu(self) -> str:
        """Return the name of the CPU that measures."""

    def measured(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        """Yield the outcome of each plan, in any order."""

    def close(self) -> None:
        """End processes and connections."""


class LocalRunner:
    """Measures in one process of this machine, which is replaced when it crashes or hangs."""

    def __init__(self, limit: float = _LIMIT_S, trial: Callable[[KernelJob, Plans, int], Outcome] = measure) -> None:
        self._limit, self._trial = limit, trial
        self._processes: dict[int, LimitedProcess] = {}

    @property
    def width(self) -> int:
        return 1

    @property
    def notes(self) -> Sequence[str]:
        return ()

    def cpu(self) -> str:
        return cpu_name()

    def measured(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        """Yield the outcome of each plan, one after the other."""
        process = self._process(job.threads)
        for plan in plans:
            yield _outcome(plan, process.call(self._trial, job, plan, turns, limit=self._limit))

    def call(self, threads: int, function: Callable[..., T], *arguments: object) -> T:
        """Call a function in the process. Raises TrialLost if the process crashes or hangs."""
        answer = self._process(threads).call(function, *arguments, limit=self._limit)
        if answer.ended:
            raise TrialLost(answer.ended)
        found: T = answer.get()
        return found

    def start(self, threads: int, function: Callable[..., object], *arguments: object) -> None:
        """Start the process if there is none, with a call that has a long limit. The next call reports its end."""
        if threads not in self._processes:
            self._process(threads).call(function, *arguments, limit=_START_S)

    def _process(self, threads: int) -> LimitedProcess:
        """Return a process on as many CPUs as a call has threads, so that times vary less."""
        return self._processes.setdefault(threads, LimitedProcess(_MEMORY, threads))

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.close()
        self._processes.clear()


class DaskRunner:
    """Measures on the workers of a Dask cluster. No trial of a lost worker is lost; a new one helps at once.

    With a board, workers with this name or tag measure and need no compiler. The other workers compile, or this
    machine if there are none.
    """

    def __init__(self, scheduler: str, board: str | None = None, limit: float = _LIMIT_S) -> None:
        """Connect to a scheduler, such as tcp://host:8786."""
        self._cluster = Cluster(scheduler)
        self._board, self._limit = board or "", limit
        #: Programs with the default's plans, by the keys of their kernels.
        self._defaults: dict[tuple[str, int], Built] = {}
        if self._board:
            self._cluster.check_board(self._board)

    @property
    def notes(self) -> Sequence[str]:
        """Return sentences on workers that do not take part."""
        return self._cluster.notes

    @property
    def width(self) -> int:
        """Return the number of workers that measure."""
        return self._cluster.width(self._board)

    def cpu(self) -> str:
        """Return the name of the CPU that measures."""
        name: str = self._cluster.call(RemoteCall(cpu_name, board=self._board, needs_compiler=not self._board))
        return name

    def measured(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        """Yield the outcome of each plan, as workers finish."""
        if self._board:
            yield from self._run_on_board(job, plans, turns)
            return
        calls = (
            RemoteCall(measure, (job, plan, turns), self._limit, _MEMORY, cpus=job.threads, is_timed=True)
            for plan in plans
        )
        for call, answer in self._cluster.outcomes(calls):
            yield _outcome(call.arguments[1], answer)

    def _run_on_board(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        """Compile plans elsewhere, and compare and time each program on the board when its code arrives."""
        try:
            default = self._default(job)
        except rx.RelaxError as error:
            yield from (Outcome(plan, problem=reason_of(error)) for plan in plans)
            return
        compiling = (RemoteCall(build, (job, plan), self._limit, _MEMORY, not_board=self._board) for plan in plans)
        #: Plans with the seconds of their compilation, by the keys of their programs.
        built: dict[str, list[tuple[Plans, float]]] = {}
        for call, answer in self._cluster.outcomes(compiling):
            if call.function is build and isinstance(answer.value, Built):
                found = built.setdefault(answer.value.program.key, [])
                found.append((call.arguments[1], answer.value.seconds))
                self._cluster.submit(self._comparison(default, answer.value, job, turns, has_default=True))
            elif call.function is build:
                yield _outcome(call.arguments[1], answer)
            elif isinstance(answer.error, ProgramMissing):
                again = Built(call.arguments[1], None, 0.0)
                self._cluster.submit(self._comparison(default, again, job, turns, has_default=False))
            else:
                each, seconds = built[call.arguments[1].key].pop()
                yield _compare_on_board(each, answer, seconds)

    def _default(self, job: KernelJob) -> Built:
        key = job.key, job.threads
        if key not in self._defaults:
            self._defaults[key] = self._cluster.call(
                RemoteCall(build, (job, None), self._limit, _MEMORY, not_board=self._board)
            )
        return self._defaults[key]

    def _comparison(self, default: Built, tuned: Built, job: KernelJob, turns: int, *, has_default: bool) -> RemoteCall:
        """Return the call that compares a program on the board. Boards keep the default program."""
        program = default.program.without_data() if has_default else default.program
        arguments = program, tuned.program, None if has_default else default.arguments, turns, job.threads
        # Workers of a board pin nothing: their processes keep programs for calls with any number of threads.
        return RemoteCall(
            compare_programs, arguments, self._limit, board=self._board, needs_compiler=False, is_timed=True
        )

    def close(self) -> None:
        """Cancel calls, and disconnect."""
        self._cluster.close()


def runner_for(scheduler: str | None, board: str | None) -> Runner:
    """Return the runner on a Dask scheduler's workers, or on this machine without a scheduler."""
    if scheduler:
        return DaskRunner(scheduler, board)
    if board:
        raise rx.OptionError(f"board='{board}' is a worker of a Dask scheduler: pass scheduler='tcp://host:8786', too")
    return LocalRunner()


def _outcome(plans: Plans, answer: Answer) -> Outcome:
    if isinstance(answer.value, Outcome):
        return answer.value
    return Outcome(plans, problem=answer.ended or reason_of(answer.error or TypeError("no outcome")))


def _compare_on_board(plans: Plans, answer: Answer, seconds: float) -> Outcome:
    """Return the outcome of a comparison on a board, after seconds of compilation."""
    if (value := answer.value) is None:
        return Outcome(plans, problem=answer.ended or reason_of(answer.error or TypeError("no outcome")))
    problem = DIFFERENT if value.is_wrong else ""
    turns = tuple((default, tuned) for default, tuned in value.turns)
    return Outcome(plans, turns, problem, value.is_wrong, seconds + value.seconds)
