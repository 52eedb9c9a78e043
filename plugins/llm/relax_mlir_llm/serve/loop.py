# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thread that runs a scheduler, and requests to the thread from an event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..requests import Output, Request, Statistics
from .embedding_jobs import EmbeddingJobs
from .errors import ApiError
from .metrics import ModelMetrics

if TYPE_CHECKING:
    from numpy import ndarray

_LOG = logging.getLogger("relax-serve")

#: Receiver of the outputs of a request. The scheduler's thread calls it.
Deliver = Callable[[Output], None]


class HasRequest(Protocol):
    """Sequence of a scheduler."""

    @property
    def request(self) -> Request:
        """Return the request of the sequence."""


class SchedulerLike(Protocol):
    """Part of `rx.llm.Scheduler` that the server uses."""

    @property
    def running(self) -> Sequence[HasRequest]:
        """Return the sequences with pages."""

    def add(self, request: Request) -> None:
        """Queue a request."""

    def cancel(self, identity: str) -> None:
        """End a request in the next step."""

    def step(self) -> list[Output]:
        """Compute the next tokens of some requests."""

    @property
    def is_idle(self) -> bool:
        """Return True if there is nothing to do for `step`."""

    @property
    def statistics(self) -> Statistics:
        """Return counts of requests, pages and tokens."""


class _Active(NamedTuple):
    request: Request
    deliver: Deliver
    clock: Clock


class Clock:
    """Times of one request, for the histograms of the metrics."""

    def __init__(self, metrics: ModelMetrics) -> None:
        self._metrics = metrics
        self._last = time.monotonic()
        self._has_token = False

    def count(self, tokens: int) -> None:
        """Record the time of some tokens."""
        if not tokens:
            return
        now = time.monotonic()
        seconds, self._last = now - self._last, now
        if self._has_token:
            self._metrics.between_tokens.observe(seconds / tokens, tokens)
        else:
            self._metrics.first_token.observe(seconds)
        self._has_token = True


class SchedulerLoop:
    """Thread that steps a scheduler while there are requests."""

    def __init__(
        self,
        scheduler: SchedulerLike,
        metrics: ModelMetrics,
        *,
        most_requests: int = 256,
        embeddings: EmbeddingJobs | None = None,
    ) -> None:
        """`most_requests` limits the requests that run or wait. `embeddings` are computed between steps."""
        self.metrics = metrics
        self._embeddings = embeddings
        self._scheduler = scheduler
        self._most = most_requests
        self._changed = threading.Condition()
        self._active: dict[str, _Active] = {}
        self._is_closing = self._is_broken = False
        self._thread = threading.Thread(target=self._run, name="relax-serve scheduler", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Return True while the thread runs and the engine works."""
        return self._thread.is_alive() and not self._is_broken

    @property
    def is_closing(self) -> bool:
        """Return True from the call of `close` on."""
        return self._is_closing

    @property
    def active(self) -> int:
        """Return the number of requests that run or wait."""
        return len(self._active) + (0 if self._embeddings is None else self._embeddings.active)

    @property
    def statistics(self) -> Statistics:
        """Return the counts of the scheduler."""
        return self._scheduler.statistics

    def submit(self, requests: Sequence[Request], deliver: Callable[[int, Output], None]) -> None:
        """Queue requests: all of them, or none with an ApiError. `deliver` gets the index of a request with outputs."""
        with self._changed:
            self._check_room(len(requests))
            for index, request in enumerate(requests):
                self._active[request.id] = _Active(request, _with_index(deliver, index), Clock(self.metrics))
                self._scheduler.add(request)
            self._changed.notify()

    def embed(self, texts: Sequence[Sequence[int]]) -> Future[ndarray]:
        """Queue texts to embed, as one request. The result is the pooled hidden states f64 [texts, width]."""
        assert self._embeddings is not None
        with self._changed:
            self._check_room(1)
            found = self._embeddings.add(texts)
            self._changed.notify()
        return found

    def _check_room(self, count: int) -> None:
        """Raise ApiError if the server does not accept so many requests."""
        if self._is_closing:
            raise ApiError(503, "the server is stopping and accepts no requests", code="stopping")
        if self._is_broken:
            raise _broken()
        if self.active + count > self._most:
            raise ApiError(
                429,
                f"the server has {self.active} of at most {self._most} requests, and no room for {count} more: "
                "try again later, or start the server with a larger --max-queue",
                code="queue_full",
            )

    def cancel(self, identities: Sequence[str], reason: str = "cancelled") -> None:
        """End requests without further outputs, and count them with a reason. Finished requests are ignored."""
        with self._changed:
            for identity in identities:
                if self._active.pop(identity, None) is not None:
                    self.metrics.count_end(reason)
                    self._scheduler.cancel(identity)
            self._changed.notify()

    def close(self) -> None:
        """End all requests with an error, and the thread."""
        with self._changed:
            self._is_closing = True
            self._fail(list(self._active), "the server has stopped")
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._is_broken and self._wait():
            if not self._scheduler.is_idle:
                self._step()
            if self._embeddings is not None and not self._is_closing:
                self._embeddings.step()
        if self._embeddings is not None:
            stopped = ApiError(503, "the server has stopped", code="stopping")
            self._embeddings.fail_all(_broken() if self._is_broken else stopped)

    def _step(self) -> None:
        try:
            outputs = self._scheduler.step()
        except Exception as error:  # an engine may raise anything, and the server goes on
            _LOG.exception("the engine failed; its requests end, and the server goes on")
            self._recover(error)
            return
        with self._changed:
            for output in outputs:
                self._pass_on(output)

    def _wait(self) -> bool:
        """Wait for work. Return False at the end."""
        with self._changed:
            while self._is_idle and not self._is_closing:
                self._changed.wait()
            # Steps after the end release the pages of cancelled requests.
            return not (self._is_closing and self._scheduler.is_idle)

    @property
    def _is_idle(self) -> bool:
        return self._scheduler.is_idle and (self._embeddings is None or self._embeddings.is_idle)

    def _pass_on(self, output: Output) -> None:
        if (active := self._active.get(output.request.id)) is None:  # cancelled
            return
        active.clock.count(len(output.tokens))
        if output.finish_reason is not None:
            del self._active[output.request.id]
            self.metrics.count_end(output.finish_reason)
        active.deliver(output)

    def _recover(self, error: Exception) -> None:
        """End the requests that the failed step may have computed. Others continue."""
        with self._changed:
            self._is_broken = not self._active
            running = [each.request.id for each in self._scheduler.running if each.request.id in self._active]
            # Without running requests, the failure is in the admission of one that waits.
            self._fail(running or list(self._active), f"the engine failed: {type(error).__name__}: {error}")

    def _fail(self, identities: Sequence[str], message: str) -> None:
        for identity in identities:
            active = self._active.pop(identity)
            self._scheduler.cancel(identity)
            self.metrics.count_end("error")
            active.deliver(Output(active.request, (), "error", message))


def _broken() -> ApiError:
    return ApiError(503, "the engine fails even without requests: restart the server", code="engine_failed")


def _with_index(deliver: Callable[[int, Output], None], index: int) -> Deliver:
    return lambda output: deliver(index, output)


class RunningRequests:
    """Requests of one HTTP call. `start` queues them, and `close` cancels the ones that are not finished."""

    def __init__(self, loop: SchedulerLoop, requests: Sequence[Request]) -> None:
        self._loop = loop
        self._requests = requests
        self._open = {request.id for request in requests}
        self._outputs: asyncio.Queue[tuple[int, Output]] = asyncio.Queue()

    @property
    def is_stopping(self) -> bool:
        """Return True if the server ends all requests."""
        return self._loop.is_closing

    def start(self) -> None:
        """Queue the requests. Raise ApiError if the server has no room for them."""
        events = asyncio.get_running_loop()

        def deliver(index: int, output: Output) -> None:
            try:
                events.call_soon_threadsafe(self._outputs.put_nowait, (index, output))
            except RuntimeError:  # the event loop has ended, and with it the client's connection
                _LOG.debug("an output came after the end of its event loop")

        self._loop.submit(self._requests, deliver)

    def close(self) -> None:
        """Cancel the requests that are not finished."""
        self._loop.cancel(sorted(self._open))
        self._open.clear()

    def end(self, index: int) -> None:
        """End a request, which needs no more tokens."""
        if (identity := self._requests[index].id) in self._open:
            self._open.discard(identity)
            self._loop.cancel([identity], "stop")

    async def outputs(self) -> AsyncIterator[tuple[int, Output]]:
        """Yield the outputs of all requests with the index of the request."""
        while self._open:
            index, output = await self._outputs.get()
            if output.request.id not in self._open:
                continue
            if output.finish_reason is not None:
                self._open.discard(output.request.id)
            yield index, output
