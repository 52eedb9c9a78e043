# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests for embeddings, which the thread of a scheduler computes between its steps."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

from ..embedding_batches import EmbeddedText, EmbeddingBatches
from ..pooling import Pooling
from .errors import ApiError
from .metrics import ModelMetrics

if TYPE_CHECKING:
    from numpy import ndarray

_LOG = logging.getLogger("relax-serve")


@dataclass(eq=False)
class _Job:
    """Texts of one request."""

    texts: list[EmbeddedText]
    #: Number of texts without an embedding.
    left: int
    #: f64 [texts, width], the pooled hidden states.
    result: Future[ndarray] = field(default_factory=Future)


class EmbeddingJobs:
    """Queue of requests for embeddings. `add` may be called by any thread, the other methods by one."""

    def __init__(self, batches: EmbeddingBatches, pooling: Pooling, metrics: ModelMetrics) -> None:
        self._batches = batches
        self._pooling = pooling
        self._metrics = metrics
        self._inbox: deque[_Job] = deque()
        self._jobs: list[_Job] = []
        #: Job of each text that has no embedding.
        self._job_of: dict[EmbeddedText, _Job] = {}

    @property
    def is_idle(self) -> bool:
        """Return True if there is nothing to do for `step`."""
        return not (self._inbox or self._jobs)

    @property
    def active(self) -> int:
        """Return the number of requests that are not finished."""
        return len(self._inbox) + len(self._jobs)

    def add(self, texts: Sequence[Sequence[int]]) -> Future[ndarray]:
        """Queue the texts of a request. Cancel the result to end the request."""
        job = _Job([EmbeddedText(text, self._pooling) for text in texts], len(texts))
        self._inbox.append(job)
        return job.result

    def step(self) -> None:
        """Compute the next tokens of some texts. An error of the engine ends the requests that it computed."""
        self._take_inbox()
        for job in [job for job in self._jobs if job.result.cancelled()]:
            self._end(job, "cancelled")
        computed = self._batches.next_texts()
        try:
            finished = self._batches.step()
        except Exception as error:  # an engine may raise anything, and the server goes on
            _LOG.exception("the engine failed; the embeddings that it computed end, and the server goes on")
            reason = f"the engine failed: {type(error).__name__}: {error}"
            failed = dict.fromkeys(self._job_of[text] for text in computed)
            self._fail(failed, ApiError(500, reason, code="engine_failed"))
            return
        for text in finished:
            job = self._job_of.pop(text)
            job.left -= 1
            if not job.left:
                self._finish(job)

    def _take_inbox(self) -> None:
        while self._inbox:
            job = self._inbox.popleft()
            self._jobs.append(job)
            for text in job.texts:
                self._job_of[text] = job
                self._batches.add(text)

    def fail_all(self, error: ApiError) -> None:
        """End all requests with an error."""
        self._take_inbox()
        self._fail(list(self._jobs), error)

    def _finish(self, job: _Job) -> None:
        is_wanted = job.result.set_running_or_notify_cancel()
        self._end(job, "stop" if is_wanted else "cancelled")
        self._metrics.count_embedded(sum(len(text.tokens) for text in job.texts))
        if is_wanted:
            job.result.set_result(numpy.stack([text.pooled for text in job.texts]))

    def _fail(self, jobs: Iterable[_Job], error: ApiError) -> None:
        for job in jobs:
            is_wanted = job.result.set_running_or_notify_cancel()
            self._end(job, "error" if is_wanted else "cancelled")
            if is_wanted:
                job.result.set_exception(error)

    def _end(self, job: _Job, reason: str) -> None:
        self._jobs.remove(job)
        if job.left:
            self._batches.remove(job.texts)
            for text in job.texts:
                self._job_of.pop(text, None)
        self._metrics.count_end(reason)
