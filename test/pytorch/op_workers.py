# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of entries in processes that may die or hang: a verdict of the samples that do it, and of no others."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

_MOST_MEMORY = 12 << 30
# A process that has grown to this is ended after its check, and another one started.
_USUAL_MEMORY = 3 << 20  # KiB, as getrusage has it
# What ends of the process may cost before nothing more of an entry and dtype is tried.
_PATIENCE = 9


class Task(NamedTuple):
    """The samples of an entry, with elements of a dtype, static or dynamic."""

    entry: str
    mode: str
    dtype: str


class Outcome(NamedTuple):
    """`verdicts` are (verdict, reason, sample), by the sample's place."""

    task: Task
    verdicts: dict[int, tuple[str, str, str]]
    seconds: float


# ---- in a worker ----


def _work(peer: Callable[[], Any], limit: int, pipe: Connection) -> None:
    """Answers tasks with places of samples, or None for all."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from op_checks import Check, reasons_for_all, without_noise
    from op_entries import entries

    without_noise()
    known, runner = entries(), peer()
    reasons: dict[str, set[str]] = {}
    pipe.send(None)  # ready: from now on the time of a task is its own
    while (asked := pipe.recv()) is not None:
        task, places = asked
        reason = reasons.get(task.entry, set())
        found = Check(known[task.entry], task.dtype, task.mode, runner, reason).run(places, limit)
        reasons = {task.entry: reason | reasons_for_all(found)}
        verdicts = {place: tuple(verdict) for place, verdict in found.items()}
        pipe.send((verdicts, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _USUAL_MEMORY))


# ---- in the process that the user started ----


class _Ended(Exception):
    """The process died, or hung."""


class Worker:
    """A process that checks samples, and another one after it died."""

    def __init__(self, peer: Callable[[], Any], limit: int, seconds: float):
        self._peer = peer
        self._limit = limit
        self._seconds = seconds
        self._process: Any = None
        self._pipe: Connection
        self._patience = _PATIENCE

    def run(self, task: Task) -> dict[int, tuple[str, str, str]]:
        """The verdicts of all samples. What ends the process is found by halves."""
        self._patience = _PATIENCE
        try:
            return self._asked(task, None)
        except _Ended as end:
            return self._separated(task, [*range(self._limit)], end)

    def _separated(self, task: Task, places: list[int], end: _Ended) -> dict[int, tuple[str, str, str]]:
        if len(places) == 1 or self._patience <= 0:
            return {place: ("error", str(end), f"sample {place}") for place in places}
        middle = len(places) // 2
        verdicts = {}
        for half in (places[:middle], places[middle:]):
            try:
                verdicts.update(self._asked(task, half))
            except _Ended as again:
                verdicts.update(self._separated(task, half, again))
        return verdicts

    def _asked(self, task: Task, places: list[int] | None) -> dict[int, tuple[str, str, str]]:
        if self._process is None:
            self._start()
        self._pipe.send((task, places))
        if not self._pipe.poll(self._seconds):
            self.stop()
            self._patience -= 3
            raise _Ended(f"took longer than {self._seconds:.0f} seconds")
        try:
            verdicts, is_large = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._patience -= 1
            raise _Ended(self._how_it_ended()) from None
        if is_large:
            self.stop()
        return verdicts

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would inherit other threads' locks
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(self._peer, self._limit, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def _how_it_ended(self) -> str:
        self._process.join()
        code = self._process.exitcode
        self._process = None
        return f"the process ended by {signal.Signals(-code).name}" if code < 0 else f"the process exited with {code}"


def run_all(
    tasks: list[Task],
    peer: Callable[[], Any],
    jobs: int,
    limit: int,
    seconds: float,
    progress: Callable[[Outcome], None],
) -> list[Outcome]:
    """The outcomes in the tasks' order; `peer` makes an op_peers.Peer in a process, `progress` hears each at once."""
    outcomes: dict[Task, Outcome] = {}
    # All of an entry is one process's: it knows why the entry was refused before.
    waiting, lock = iter([[*group] for _, group in itertools.groupby(tasks, lambda task: task.entry)]), threading.Lock()

    def serve() -> None:
        worker = Worker(peer, limit, seconds)
        for task in itertools.chain.from_iterable(_shared(waiting, lock)):
            start = time.monotonic()
            verdicts = worker.run(task)
            outcomes[task] = Outcome(task, verdicts, time.monotonic() - start)
            progress(outcomes[task])
        worker.stop()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcomes[task] for task in tasks if task in outcomes]


def _shared(waiting: Iterator[list[Task]], lock: threading.Lock) -> Iterator[list[Task]]:
    while True:
        with lock:
            tasks = next(waiting, None)
        if tasks is None:
            return
        yield tasks
