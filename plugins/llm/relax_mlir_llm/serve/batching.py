# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic batching: calls of a compiled function that arrive together run as one call with more rows."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from numpy import ndarray

_LOG = logging.getLogger("relax-serve")

#: Function from all inputs to all results.
Run = Callable[[Sequence["ndarray"]], Sequence["ndarray"]]
#: Least and largest relative difference of results: rows of a batch may be added in another order.
_TOLERANCE = 1e-3


@dataclass(eq=False)
class BatchedCall:
    """Call of the function with some rows."""

    inputs: Sequence[ndarray]
    rows: int
    #: Jobs with equal keys can share a call: sizes and types except for the rows.
    key: Hashable
    result: Future[Sequence[ndarray]] = field(default_factory=Future)


@dataclass
class BatchCounts:
    """Counts for the metrics."""

    requests: int = 0
    calls: int = 0
    failures: int = 0
    rows: int = 0


class Batcher:
    """Thread that runs jobs. Waiting jobs with equal keys run as one call of at most `most_rows` rows.

    The first shared call is compared with separate calls. Batching ends if the function mixes rows.
    """

    def __init__(self, run: Run, *, most_rows: int, delay: float, most_jobs: int = 256) -> None:
        """`delay` is the time in seconds that a job waits for others. `most_jobs` limits the waiting jobs."""
        self.counts = BatchCounts()
        self._run_function = run
        self._most_rows = most_rows
        self._delay = delay
        self._most_jobs = most_jobs
        self._jobs: deque[BatchedCall] = deque()
        self._changed = threading.Condition()
        self._is_closing = self._is_checked = False
        self._thread = threading.Thread(target=self._run, name="relax-serve batches", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Return True while the thread runs."""
        return self._thread.is_alive()

    @property
    def is_batching(self) -> bool:
        """Return True if calls may be shared."""
        return self._most_rows > 1

    @property
    def waiting(self) -> int:
        """Return the number of jobs that wait."""
        return len(self._jobs)

    def submit(self, job: BatchedCall) -> bool:
        """Queue a job. Return False if the queue is full."""
        with self._changed:
            if self._is_closing or len(self._jobs) >= self._most_jobs:
                return False
            self._jobs.append(job)
            self.counts.requests += 1
            self._changed.notify()
        return True

    def close(self) -> None:
        """Run the waiting jobs, and end the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while (batch := self._next_batch()) is not None:
            jobs = [job for job in batch if job.result.set_running_or_notify_cancel()]
            if len(jobs) < 2 or not self._run_together(jobs):
                for job in jobs:
                    self._run_one(job)

    def _next_batch(self) -> list[BatchedCall] | None:
        """Wait for jobs. Return jobs with equal keys, or None at the end."""
        with self._changed:
            while not self._jobs and not self._is_closing:
                self._changed.wait()
            if not self._jobs:
                return None
            self._wait_for_others(time.monotonic() + self._delay)
            first = self._jobs[0]
            batch: list[BatchedCall] = []
            rows = 0
            for job in tuple(self._jobs):
                if job.key == first.key and (not batch or rows + job.rows <= self._most_rows):
                    batch.append(job)
                    rows += job.rows
                    self._jobs.remove(job)
            return batch

    def _wait_for_others(self, end: float) -> None:
        """Wait until the first job's batch is full, or its delay is over."""
        while self.is_batching and not self._is_closing:
            key = self._jobs[0].key
            rows = sum(job.rows for job in self._jobs if job.key == key)
            seconds = end - time.monotonic()
            if rows >= self._most_rows or seconds <= 0:
                return
            self._changed.wait(seconds)

    def _run_one(self, job: BatchedCall) -> Sequence[ndarray] | None:
        """Run one job. Return the results, or None after an error."""
        try:
            result = self._call(job.inputs, job.rows)
        except Exception as error:  # programs raise errors of types, sizes and devices
            self.counts.failures += 1
            job.result.set_exception(error)
            return None
        job.result.set_result(result)
        return result

    def _run_together(self, jobs: Sequence[BatchedCall]) -> bool:
        """Run jobs as one call. Return False after an error, which may be of one job only."""
        try:
            inputs = [numpy.concatenate(parts) for parts in zip(*(job.inputs for job in jobs), strict=True)]
            results = self._call(inputs, sum(job.rows for job in jobs))
        except Exception:
            _LOG.info("a call with %d requests failed: each of them gets a call of its own", len(jobs))
            return False
        ends = numpy.cumsum([job.rows for job in jobs])
        parts = [[result[end - job.rows : end] for result in results] for job, end in zip(jobs, ends, strict=True)]
        if not self._is_checked:
            self._check(jobs, parts)
            return True
        for job, part in zip(jobs, parts, strict=True):
            job.result.set_result(part)
        return True

    def _check(self, jobs: Sequence[BatchedCall], parts: Sequence[Sequence[ndarray]]) -> None:
        """Answer with results of separate calls, and stop batching if the shared call had other results."""
        for job, part in zip(jobs, parts, strict=True):
            own = self._run_one(job)
            if own is not None and not all(map(_are_close, part, own)):
                self._most_rows = 1
        self._is_checked = True
        if not self.is_batching:
            _LOG.warning("the function mixes the rows of its inputs: requests run one by one from now on")

    def _call(self, inputs: Sequence[ndarray], rows: int) -> Sequence[ndarray]:
        self.counts.calls += 1
        self.counts.rows += rows
        return self._run_function(inputs)


def _are_close(shared: ndarray, own: ndarray) -> bool:
    if shared.shape != own.shape:
        return False
    if own.dtype.kind in "biu":
        return bool(numpy.array_equal(shared, own))
    one, other = shared.astype(numpy.float64), own.astype(numpy.float64)
    is_finite = numpy.isfinite(one) & numpy.isfinite(other)
    size = float(numpy.max(numpy.abs(other), initial=0.0, where=is_finite))
    # Not a number in both is equal, and so is the same infinity.
    if not numpy.array_equal(one[~is_finite], other[~is_finite], equal_nan=True):
        return False
    return bool(numpy.all(numpy.abs(one[is_finite] - other[is_finite]) <= _TOLERANCE * max(size, 1e-30)))
