# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Worker calls that run while this process does other work and waits for the results later."""

from __future__ import annotations

import contextlib
import errno
import threading
from collections.abc import Callable, Iterable
from functools import partial
from queue import SimpleQueue

from .pool import Abandoned, Begun, CallQueue, Done, Pool, PoolCall

#: Event of the run for the waiting thread. None marks the end.
_Event = Callable[[Done, Begun], None] | None


class BackgroundRun:
    """Run of a pool in a background thread: `add` calls as they become known, then `finish` or `abandon`."""

    def __init__(self, pool: Pool, jobs: int) -> None:
        """Start the thread. Raise OSError if the system has no free thread or pipe."""
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

    def __enter__(self) -> BackgroundRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def add(self, calls: Iterable[PoolCall]) -> None:
        """Queue calls for the next free workers."""
        self._queue.add(calls)

    def finish(self, done: Done, begun: Begun) -> None:
        """Wait for all calls, and report each in this thread by its index among all added calls.

        Raises the exceptions of `Pool.run`.
        """
        self._queue.close()
        try:
            while (event := self._events.get()) is not None:
                event(done, begun)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """End the workers of an unfinished run. Its results are discarded."""
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
        except BaseException as error:  # raised again in the waiting thread
            tell(partial(_raise, error))
        tell(None)


def _raise(error: BaseException, *_: object) -> None:
    raise error
