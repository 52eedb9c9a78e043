# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pool of clean worker processes, which are reused and end with this process.

Workers start with the interpreter's command instead of fork, so threads and imported modules do not matter. A crash in
C++ ends one worker, not the program.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import IO

from ..callbacks import fragile
from ..ending import at_end
from ..errors import RelaxError
from ..temporary import scratch_file
from .worker import receive, send

_PROGRAM = "import sys; sys.path[:] = {path!r}; from {package}.worker import main; main({preloaded!r})"
_GRACE_S = 5.0
_CAUSES: dict[int, str] = {
    signal.SIGKILL: "was killed (out of memory?)",
    signal.SIGPROF: "gave up, because MLIR did not come to an end",
}


@dataclass(frozen=True)
class PoolCall:
    """Call of `package.module:name`, which maps bytes and JSON-compatible arguments to bytes."""

    function: str
    data: bytes
    arguments: dict[str, object]
    #: Subject of the work for messages: `kernel 'matmul'`.
    what: str
    #: Source location of the subject, or an empty string.
    place: str = ""
    #: Activity of the process for messages: "the process that made its code crashed".
    doing: str = "made its code"


#: Callback with the index of a call that a worker has received.
Begun = Callable[[int], None]
#: Callback with the index of a call, its result, and its duration in seconds.
Done = Callable[[int, bytes, float], None]


class Worker:
    """Worker process."""

    def __init__(self, preloaded: str = "") -> None:
        """Start the process. Raise OSError if the system cannot create a process."""
        import subprocess  # small programs need no processes

        # Output of the worker goes to a file, which need not be drained while the worker runs.
        if not sys.executable:
            raise OSError(errno.ENOENT, "the interpreter's command is not known")
        try:
            self._printed: IO[bytes] = scratch_file()  # open as long as the worker
        except RelaxError as error:
            raise OSError(errno.ENOSPC, error.message) from None
        path = [each for each in sys.path if isinstance(each, str)]
        program = _PROGRAM.format(path=path, package=__package__, preloaded=preloaded)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._printed,
            )  # fmt: skip
        except OSError:
            self._printed.close()
            raise
        self.call: PoolCall | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def answers(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def begin(self, call: PoolCall) -> None:
        """Send a call to the process. Raise RelaxError if the process has died."""
        self.call = call
        try:
            send(self._process.stdin, {"function": call.function, "arguments": call.arguments}, call.data)  # type: ignore[arg-type]
        except OSError:
            raise self._death(call) from None

    def finish(self) -> tuple[bytes, float]:
        """Wait for the result, and return the result with its duration.

        Raise RelaxError if the call failed or the process died.
        """
        call = self.call
        assert call is not None
        try:
            answer, data = receive(self.answers)
        except EOFError:
            raise self._death(call) from None
        self.call = None
        if "error" in answer:
            raise RelaxError(f"{call.what}: {answer['error']}", location=call.place, notes=answer["notes"])
        return data, float(answer["seconds"])

    @fragile
    def end(self) -> None:
        """Kill the process and wait for its end."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._printed):
            # Closing may fail for unsent data, which is no longer needed.
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]

    def _death(self, call: PoolCall) -> RelaxError:
        import subprocess

        try:
            # The process is about to end: its pipes are closed.
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._printed.seek(0)
        printed = self._printed.read(4000).decode("utf-8", "replace").strip().splitlines()
        how = _CAUSES.get(-code) or (f"crashed ({signal.Signals(-code).name})" if code < 0 else f"ended with {code}")
        telling = [line for line in printed if line.startswith("LLVM ERROR")][:1] or printed[-1:]
        notes = [f"it printed: {line[:200]}" for line in telling]
        return RelaxError(f"{call.what}: the process that {call.doing} {how}", location=call.place, notes=notes)


class Pool:
    """Worker processes of this process. Several threads may use a pool."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._owner = os.getpid()

    def prepare(self, count: int, preloaded: str = "", calls: Sequence[PoolCall] = ()) -> None:
        """Start workers in advance and preload a module.

        Failures are reported later.

        Each worker begins one of the calls, which a later `run` requests and finds running or finished.
        """
        with contextlib.suppress(OSError):
            workers = self._take(count, preloaded)
            free = [worker for worker in workers if worker.call is None]
            # The run that needs a dead worker reports it.
            with contextlib.suppress(RelaxError):
                for worker, call in zip(free, calls, strict=False):
                    worker.begin(call)
            self._give_back(workers)

    def idle_count(self) -> int:
        """Return the number of workers that wait for work or run calls of `prepare`."""
        with self._lock:
            return len(self._idle) if self._owner == os.getpid() else 0

    def run(self, calls: Sequence[PoolCall], jobs: int, done: Done, begun: Begun = lambda index: None) -> None:
        """Run the calls in order on up to `jobs` workers.

        `done` receives each result as it arrives.

        Raises RelaxError for the first failing call, and OSError if no process can be started. After an error or an
        interruption all workers are ended.
        """
        with CallQueue(calls) as queue:
            queue.close()
            self.run_queue(queue, min(jobs, len(calls)), done, begun)

    def run_queue(self, queue: CallQueue, jobs: int, done: Done, begun: Begun = lambda index: None) -> None:
        """Run the calls of a queue, including calls that other threads add, until the queue is closed and empty."""
        workers = self._take(jobs)
        try:
            _WorkerRun(workers, queue, done, begun).run()
        except BaseException:
            for worker in workers:
                worker.end()
            raise
        self._give_back(workers)

    def end(self) -> None:
        """End the idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        if self._owner == os.getpid():
            for worker in idle:
                worker.end()

    @fragile
    def _take(self, count: int, preloaded: str = "") -> list[Worker]:
        with self._lock:
            if self._owner != os.getpid():
                # After a fork the workers belong to the parent. Keep references so that they are not ended.
                _strangers.extend(self._idle)
                self._idle, self._owner = [], os.getpid()
            taken, self._idle = self._idle[:count], self._idle[count:]
        usable = [worker for worker in taken if worker.is_alive]
        try:
            while len(usable) < count:
                usable.append(Worker(preloaded))
        except BaseException:
            self._give_back(usable)
            raise
        return usable

    @fragile
    def _give_back(self, workers: Sequence[Worker]) -> None:
        with self._lock:
            self._idle += workers


class CallQueue:
    """Queue of calls that one thread fills while another thread runs them."""

    def __init__(self, calls: Iterable[PoolCall] = ()) -> None:
        self._news, self._told = os.pipe()
        self._lock = threading.Lock()
        self._added: list[tuple[int, PoolCall]] = []
        self._count = 0
        self._is_closed = self._is_abandoned = False
        self.add(calls)

    def __enter__(self) -> CallQueue:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._news)
        os.close(self._told)

    def fileno(self) -> int:
        """Return the file descriptor that becomes readable when the queue changes."""
        return self._news

    def add(self, calls: Iterable[PoolCall]) -> None:
        with self._lock:
            for call in calls:
                self._added.append((self._count, call))
                self._count += 1
        self._tell()

    def close(self) -> None:
        """Declare that no more calls follow."""
        self._is_closed = True
        self._tell()

    def abandon(self) -> None:
        """Stop the run at once. Its results are discarded."""
        self._is_abandoned = True
        self._tell()

    def taken(self) -> tuple[list[tuple[int, PoolCall]], bool]:
        """Return the new calls with their indices, and True if no calls follow. Raise Abandoned after `abandon`."""
        if self._is_abandoned:
            raise Abandoned
        with self._lock:
            is_last = self._is_closed
            added, self._added = self._added, []
        return added, is_last

    def _tell(self) -> None:
        os.write(self._told, b"\0")


class Abandoned(Exception):
    """Queue whose results are discarded."""


class _WorkerRun:
    """Workers of one run, with the indices of their current calls."""

    def __init__(self, workers: Sequence[Worker], queue: CallQueue, done: Done, begun: Begun) -> None:
        self._queue, self._done, self._begun = queue, done, begun
        self._idle = [worker for worker in workers if worker.call is None]
        #: Busy workers. The index is None for a call of `Pool.prepare` that this run has not requested yet.
        self._current: dict[Worker, int | None] = dict.fromkeys(worker for worker in workers if worker.call is not None)
        self._early: list[tuple[PoolCall, bytes, float]] = []
        self._waiting: deque[tuple[int, PoolCall]] = deque()

    def run(self) -> None:
        import selectors

        with selectors.DefaultSelector() as selector:
            selector.register(self._queue, selectors.EVENT_READ)
            for worker in self._current:
                selector.register(worker.answers, selectors.EVENT_READ, worker)
            is_last = False
            while self._current or self._waiting or not is_last:
                for key, _ in selector.select():
                    if key.data is None:
                        is_last = self._take_new()
                    else:
                        selector.unregister(key.fileobj)
                        self._finish(key.data)
                while self._idle and self._waiting:
                    worker = self._idle.pop()
                    self._begin(worker, *self._waiting.popleft())
                    selector.register(worker.answers, selectors.EVENT_READ, worker)

    def _take_new(self) -> bool:
        """Take the queue's new calls. Return True if no calls follow."""
        os.read(self._queue.fileno(), 4096)
        added, is_last = self._queue.taken()
        for place, call in added:
            self._take(place, call)
        return is_last

    def _take(self, place: int, call: PoolCall) -> None:
        """Queue a call for a free worker, unless a worker has begun or finished it early."""
        early = next((pool_calls for pool_calls in self._early if pool_calls[0] == call), None)
        worker = next((key for key, index in self._current.items() if index is None and key.call == call), None)
        if early is not None:
            self._early.remove(early)
            self._begun(place)
            self._done(place, *early[1:])
        elif worker is not None:
            self._current[worker] = place
            self._begun(place)
        else:
            self._waiting.append((place, call))

    def _begin(self, worker: Worker, place: int, call: PoolCall) -> None:
        self._current[worker] = place
        worker.begin(call)
        self._begun(place)

    def _finish(self, worker: Worker) -> None:
        call = worker.call
        data, seconds = worker.finish()
        place = self._current.pop(worker)
        self._idle.append(worker)
        if place is not None:
            self._done(place, data, seconds)
        elif call is not None:
            self._early.append((call, data, seconds))


_strangers: list[Worker] = []
_pool: Pool | None = None
_making = threading.Lock()


def process_pool() -> Pool:
    """Return the process-wide pool of workers. Its workers are ended at exit."""
    global _pool
    with _making:
        if _pool is None:
            _pool = Pool()
            at_end(_pool.end)
    return _pool
