# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that workers run while this process does other work; the results are waited for at the end."""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Callable, Iterable
from functools import partial
from queue import SimpleQueue

from .pool import Abandoned, Begun, CallQueue, Done, Pool, PoolCall

#: A step of the run for the thread that waits for the results; None: there are no more.
_Event = Callable[[Done, Begun], None] | None


class BackgroundRun:
    """One run of a pool in a thread of its own: `add` calls as they are known, then `finish`, or `abandon`."""

    def __init__(self, pool: Pool, jobs: int) -> None:
        """Raise OSError where the system has no thread or pipe to give."""
        self._pool, self._jobs = pool, jobs
        self._queue = CallQueue()
        self._events: SimpleQueue[_Event] = SimpleQueue()
        self._is_ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._queue.__exit__()
            raise OSError(errno.EAGAIN, "no thread can be started") from None

    def add(self, calls: Iterable[PoolCall]) -> None:
        """Have workers begin with these as soon as they are free."""
        self._queue.add(calls)

    def finish(self, done: Done, begun: Begun) -> None:
        """Wait until all calls are done, and tell of each, in this thread, by its place among all that were added.

        Raises as `Pool.run` does.
        """
        self._queue.close()
        try:
            while (event := self._events.get()) is not None:
                event(done, begun)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """End the workers unless all is done: nobody wants the results any more."""
        if not self._is_ended:
            self._is_ended = True
            self._queue.abandon()
            self._thread.join()
            self._queue.__exit__()

    def _run(self) -> None:
        tell = self._events.put
        try:
            with contextlib.suppress(Abandoned):
                self._pool.run_queue(
                    self._queue,
                    self._jobs,
                    lambda *result: tell(lambda done, _: done(*result)),
                    lambda place: tell(lambda _, begun: begun(place)),
                )
        except BaseException as error:  # the thread that waits raises it
            tell(partial(_raise, error))
        tell(None)


def _raise(error: BaseException, *_: object) -> None:
    raise error
