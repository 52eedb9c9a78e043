# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions in a few clean processes, which are kept for the next work and end with this one.

They are started by the interpreter's own command, not forked: threads and what the program has imported do not matter,
and a crash in C++ ends one of them, not the program.
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
    """A function of a module, `package.module:name`, that makes bytes of bytes and of arguments that JSON can hold."""

    function: str
    data: bytes
    arguments: dict[str, object]
    #: For messages: what it works on, `kernel 'matmul'`.
    what: str
    #: Where that comes from; empty where nothing is known.
    place: str = ""
    #: What the process does, in words: "the process that made its code crashed".
    doing: str = "made its code"


#: Gets the place of a call in the list when a worker has got it.
Begun = Callable[[int], None]
#: Gets the place of a call in the list, what it has made, and in how many seconds.
Done = Callable[[int, bytes, float], None]


class Worker:
    """One process."""

    def __init__(self, preloaded: str = "") -> None:
        """Starts the process. Raises OSError where the system has none to give."""
        import subprocess  # small programs need no processes

        # What it prints goes to a file: that need not be read while it works.
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
        """Gives the process work. Raises RelaxError where it has died."""
        self.call = call
        try:
            send(self._process.stdin, {"function": call.function, "arguments": call.arguments}, call.data)  # type: ignore[arg-type]
        except OSError:
            raise self._death(call) from None

    def finish(self) -> tuple[bytes, float]:
        """Waits for the answer, and how long it took. Raises RelaxError: the function's, or that the process died."""
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
        """Ends the process at once and waits until it has ended."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._printed):
            # What was not sent any more is of no use to it.
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]

    def _death(self, call: PoolCall) -> RelaxError:
        import subprocess

        try:
            # It is about to: its pipes are closed.
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
    """Workers of this process. Several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._owner = os.getpid()

    def prepare(self, count: int, preloaded: str = "", calls: Sequence[PoolCall] = ()) -> None:
        """Starts workers that will be needed soon, with a module that they will need; failures are reported later.

        They begin with calls, one each, that a `run` soon asks for: it finds them under way, or done.
        """
        with contextlib.suppress(OSError):
            workers = self._take(count, preloaded)
            free = [worker for worker in workers if worker.call is None]
            # What has died meanwhile is reported by the run that needs it.
            with contextlib.suppress(RelaxError):
                for worker, call in zip(free, calls, strict=False):
                    worker.begin(call)
            self._give_back(workers)

    def idle_count(self) -> int:
        """How many workers wait for work, or are at work that was begun early."""
        with self._lock:
            return len(self._idle) if self._owner == os.getpid() else 0

    def run(self, calls: Sequence[PoolCall], jobs: int, done: Done, begun: Begun = lambda index: None) -> None:
        """Runs the calls in their order on a number of workers; `done` gets each result as it comes.

        Raises RelaxError for the first that fails, OSError where no process can be started; none goes on then, and
        none after an interruption.
        """
        with CallQueue(calls) as queue:
            queue.close()
            self.run_queue(queue, min(jobs, len(calls)), done, begun)

    def run_queue(self, queue: CallQueue, jobs: int, done: Done, begun: Begun = lambda index: None) -> None:
        """Run the calls of a queue, those that another thread adds too, until the queue is closed and all are done."""
        workers = self._take(jobs)
        try:
            _WorkerRun(workers, queue, done, begun).run()
        except BaseException:
            for worker in workers:
                worker.end()
            raise
        self._give_back(workers)

    def end(self) -> None:
        """Ends the workers that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        if self._owner == os.getpid():
            for worker in idle:
                worker.end()

    @fragile
    def _take(self, count: int, preloaded: str = "") -> list[Worker]:
        with self._lock:
            if self._owner != os.getpid():
                # After a fork they are the parent's. Kept, lest they are ended.
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
    """Calls for workers, to which one thread adds while another one has them run."""

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
        """Return what can be read when there is something new."""
        return self._news

    def add(self, calls: Iterable[PoolCall]) -> None:
        with self._lock:
            for call in calls:
                self._added.append((self._count, call))
                self._count += 1
        self._tell()

    def close(self) -> None:
        """Promise that no more calls come."""
        self._is_closed = True
        self._tell()

    def abandon(self) -> None:
        """Have the run end at once: nobody wants the results."""
        self._is_abandoned = True
        self._tell()

    def taken(self) -> tuple[list[tuple[int, PoolCall]], bool]:
        """Return the new calls with their places, and whether they are the last. Raises Abandoned."""
        if self._is_abandoned:
            raise Abandoned
        with self._lock:
            is_last = self._is_closed
            added, self._added = self._added, []
        return added, is_last

    def _tell(self) -> None:
        os.write(self._told, b"\0")


class Abandoned(Exception):
    """A queue whose results nobody wants any more."""


class _WorkerRun:
    """The workers of one run, with the places of the calls that they work on."""

    def __init__(self, workers: Sequence[Worker], queue: CallQueue, done: Done, begun: Begun) -> None:
        self._queue, self._done, self._begun = queue, done, begun
        self._idle = [worker for worker in workers if worker.call is None]
        #: Those that work; the place is None for a call of `Pool.prepare` that this run has not asked for yet.
        self._current: dict[Worker, int | None] = dict.fromkeys(each for each in workers if each.call is not None)
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
        """Take the queue's new calls; check whether they are the last."""
        os.read(self._queue.fileno(), 4096)
        added, is_last = self._queue.taken()
        for place, call in added:
            self._take(place, call)
        return is_last

    def _take(self, place: int, call: PoolCall) -> None:
        """Wait for a worker, unless one has begun the call early, or has done it."""
        early = next((each for each in self._early if each[0] == call), None)
        worker = next((each for each, index in self._current.items() if index is None and each.call == call), None)
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
    """The workers that all of this process shares. They are ended at its exit."""
    global _pool
    with _making:
        if _pool is None:
            _pool = Pool()
            at_end(_pool.end)
    return _pool
