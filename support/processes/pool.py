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
from collections.abc import Callable, Sequence
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
        workers = self._take(min(jobs, len(calls)))
        try:
            self._run(workers, calls, done, begun)
        except BaseException:
            for worker in workers:
                worker.end()
            raise
        self._give_back(workers)

    def _run(self, workers: Sequence[Worker], calls: Sequence[PoolCall], done: Done, begun: Begun) -> None:
        import selectors

        current = {worker: _place_of(worker.call, calls) for worker in workers if worker.call is not None}
        waiting = iter([each for each in enumerate(calls) if each[0] not in current.values()])
        with selectors.DefaultSelector() as selector:
            for index in current.values():
                if index is not None:
                    begun(index)
            for worker, (index, call) in zip([each for each in workers if each.call is None], waiting, strict=False):
                current[worker] = index
                worker.begin(call)
                begun(index)
            for worker in current:
                selector.register(worker.answers, selectors.EVENT_READ, worker)
            while current:
                for key, _ in selector.select():
                    worker = key.data
                    data, seconds = worker.finish()
                    finished = current.pop(worker)
                    following = next(waiting, None)
                    if following is None:
                        selector.unregister(worker.answers)
                    else:
                        current[worker] = following[0]
                        worker.begin(following[1])
                    if finished is not None:
                        done(finished, data, seconds)
                    if following is not None:
                        begun(following[0])

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


def _place_of(begun: PoolCall, calls: Sequence[PoolCall]) -> int | None:
    """Where a call that was begun early is in the list; None where it is not wanted any more."""
    return next((index for index, call in enumerate(calls) if call == begun), None)


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
