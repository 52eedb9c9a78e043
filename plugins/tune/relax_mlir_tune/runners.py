# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runners of trials: a process on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as LateError
from concurrent.futures.process import BrokenProcessPool
from typing import Any, ParamSpec, Protocol, TypeVar

import relax_mlir as rx

from .measuring import Job, Outcome, measure
from .space import Plans

#: Seconds of a trial, after which its process is ended, and bytes of memory of a process.
_LIMIT_S = 60.0
_MEMORY = 8 << 30


P = ParamSpec("P")
T = TypeVar("T")


class TrialLost(Exception):
    """Reason why a process has no result of a trial."""


class Runner(Protocol):
    """Measures plans of a kernel."""

    def measured(self, job: Job, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        """Yield the outcome of each plan, in any order."""

    def close(self) -> None:
        """End processes and connections."""


class LocalRunner:
    """Measures in one process of this machine, which is replaced when it crashes or hangs."""

    def __init__(self, limit: float = _LIMIT_S, trial: Callable[[Job, Plans, int], Outcome] = measure) -> None:
        self._limit, self._trial = limit, trial
        self._pool: ProcessPoolExecutor | None = None

    def measured(self, job: Job, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        for each in plans:
            yield self._measured(job, each, turns)

    def _measured(self, job: Job, plans: Plans, turns: int) -> Outcome:
        try:
            return self.call(job.threads, self._trial, job, plans, turns)
        except TrialLost as lost:
            return Outcome(plans, problem=str(lost))
        except Exception as error:  # of a trial: memory that is exhausted, or a fault of the compiler
            return Outcome(plans, problem=f"the trial failed: {type(error).__name__}: {error}"[:200])

    def call(self, threads: int, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a function in the process. Raises TrialLost if the process crashes or hangs."""
        try:
            return self._started(threads).submit(function, *arguments, **named).result(self._limit)
        except LateError:
            self.close()
            raise TrialLost(f"took more than {self._limit:.0f} s") from None
        except BrokenProcessPool:
            self.close()
            raise TrialLost("the process crashed") from None

    def start(self, threads: int, function: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> None:
        """Start the process if there is none, with a call that has no time limit."""
        if self._pool is None:
            with contextlib.suppress(BrokenProcessPool):  # reported by the next call
                self._started(threads).submit(function, *arguments, **named).result()

    def _started(self, threads: int) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_prepare_process, initargs=(threads,))
        return self._pool

    def close(self) -> None:
        if self._pool is None:
            return
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None


def _prepare_process(threads: int) -> None:
    """Limit the memory of a process, and keep it on as many CPUs as a call has threads, so that times vary less."""
    import resource
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search ends its process
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


class DaskRunner:
    """Measures on the workers of a Dask cluster. A lost worker loses its trial only; a new one helps at once."""

    def __init__(self, scheduler: str, resources: dict[str, float] | None = None) -> None:
        """Connect to a scheduler, such as tcp://host:8786."""
        try:
            from distributed import Client  # an extra
        except ImportError:
            raise rx.OptionError(
                f"scheduler='{scheduler}' needs the package distributed", notes=["pip install 'relax-mlir[dask]'"]
            ) from None
        try:
            self._client: Any = Client(scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise rx.OptionError(f"no Dask scheduler answers at '{scheduler}': {error}") from None
        self._resources = resources

    def measured(self, job: Job, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        from distributed import as_completed

        futures = {
            self._client.submit(measure, job, each, turns, pure=False, retries=1, resources=self._resources): each
            for each in plans
        }
        for future in as_completed(list(futures)):
            try:
                yield future.result()
            except Exception as error:  # of a lost worker, or of another version
                yield Outcome(futures[future], problem=f"the worker failed: {error}"[:200])

    def close(self) -> None:
        self._client.close()
