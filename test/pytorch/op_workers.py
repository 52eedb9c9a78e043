# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of entries in processes that may die or hang: only the responsible samples get such a verdict."""

from __future__ import annotations

import functools
import itertools
import os
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from worker_process import Ended, WorkerProcess, in_threads

# A process that has grown to this is ended after its check, and another one started.
_USUAL_MEMORY = 3 << 20  # KiB, the unit of getrusage
# Number of process deaths after which the rest of an entry and dtype is skipped.
_PATIENCE = 9


class Task(NamedTuple):
    """Samples of an entry, with elements of a dtype, static or dynamic."""

    entry: str
    mode: str
    dtype: str


class Outcome(NamedTuple):
    """Outcome of a task. `verdicts` are (verdict, reason, sample), by the sample's place."""

    task: Task
    verdicts: dict[int, tuple[str, str, str]]
    seconds: float


# ---- in a worker ----


def _answering(peer: Callable[[], Any], limit: int) -> Callable[[Any], tuple[dict[int, Any], bool]]:
    """Return a function from a task with samples, or None for all, to verdicts and whether the process is large."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from op_checks import Check, reasons_for_all, without_noise
    from op_entries import entries

    without_noise()
    known, runner = entries(), peer()
    reasons: dict[str, set[str]] = {}

    def answer(asked: tuple[Task, list[int] | None]) -> tuple[dict[int, Any], bool]:
        task, places = asked
        reason = reasons.get(task.entry, set())
        check = Check
        if task.mode.startswith("ranks"):
            from op_placements import PlacementCheck as check
        found = check(known[task.entry], task.dtype, task.mode, runner, reason).run(places, limit)
        reasons.clear()
        reasons[task.entry] = reason | reasons_for_all(found)
        verdicts = {place: tuple(verdict) for place, verdict in found.items()}
        return verdicts, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _USUAL_MEMORY

    return answer


# ---- in the process that the user started ----


class Worker:
    """Process that checks samples, and is replaced after it died."""

    def __init__(self, peer: Callable[[], Any], limit: int, seconds: float):
        self._limit = limit
        self._process = WorkerProcess(functools.partial(_answering, peer, limit), seconds)
        self._patience = _PATIENCE

    def run(self, task: Task) -> dict[int, tuple[str, str, str]]:
        """Return the verdicts of all samples. Bisection finds the sample that ends the process."""
        self._patience = _PATIENCE
        try:
            return self._asked(task, None)
        except Ended as end:
            return self._separated(task, [*range(self._limit)], end)

    def stop(self) -> None:
        self._process.stop()

    def _separated(self, task: Task, places: list[int], end: Ended) -> dict[int, tuple[str, str, str]]:
        if len(places) == 1 or self._patience <= 0:
            return {place: ("error", str(end), f"sample {place}") for place in places}
        middle = len(places) // 2
        verdicts = {}
        for half in (places[:middle], places[middle:]):
            try:
                verdicts.update(self._asked(task, half))
            except Ended as again:
                verdicts.update(self._separated(task, half, again))
        return verdicts

    def _asked(self, task: Task, places: list[int] | None) -> dict[int, tuple[str, str, str]]:
        try:
            verdicts, is_large = self._process.ask((task, places))
        except Ended as end:
            self._patience -= 3 if end.hung else 1
            raise
        if is_large:
            self.stop()
        return verdicts


def run_all(
    tasks: list[Task],
    peer: Callable[[], Any],
    jobs: int,
    limit: int,
    seconds: float,
    progress: Callable[[Outcome], None],
) -> list[Outcome]:
    """Return the outcomes in order. `peer` makes an op_peers.Peer in a process, `progress` receives each at once."""
    outcomes: dict[Task, Outcome] = {}

    def serve(groups: Iterator[list[Task]]) -> None:
        worker = Worker(peer, limit, seconds)
        for task in itertools.chain.from_iterable(groups):
            start = time.monotonic()
            verdicts = worker.run(task)
            outcomes[task] = Outcome(task, verdicts, time.monotonic() - start)
            progress(outcomes[task])
        worker.stop()

    # All of an entry is one process's: it knows why the entry was refused before.
    in_threads([[*group] for _, group in itertools.groupby(tasks, lambda task: task.entry)], jobs, serve)
    return [outcomes[task] for task in tasks if task in outcomes]
