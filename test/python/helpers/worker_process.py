# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Worker processes that answer questions and may die or hang.

Both harnesses of external tables run their cases in them.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any, TypeVar

_MOST_MEMORY = 12 << 30

Item = TypeVar("Item")


class Ended(Exception):
    """Raised if the process died or hung."""

    def __init__(self, reason: str, hung: bool):
        super().__init__(reason)
        self.hung = hung


class WorkerProcess:
    """Process that answers questions, and is replaced after it died.

    `make`, which travels by pickle, is called in the process and returns the function that answers. An answer may take
    `seconds`.
    """

    def __init__(self, make: Callable[[], Callable[[Any], Any]], seconds: float):
        self._make = make
        self._seconds = seconds
        self._process: Any = None
        self._pipe: Connection

    def ask(self, question: object) -> Any:
        """Return the answer, or raise Ended."""
        if self._process is None:
            self._start()
        self._pipe.send(question)
        if not self._pipe.poll(self._seconds):
            self.stop()
            raise Ended(f"took longer than {self._seconds:.0f} seconds", hung=True)
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionError):
            raise Ended(self._how_it_ended(), hung=False) from None

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would inherit other threads' locks
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_answer, args=(self._make, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def _how_it_ended(self) -> str:
        self._process.join()
        code = self._process.exitcode
        self._process = None
        return f"the process ended by {signal.Signals(-code).name}" if code < 0 else f"the process exited with {code}"


def _answer(make: Callable[[], Callable[[Any], Any]], pipe: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer = make()
    pipe.send(None)  # ready: from now on the time of an answer is its own
    while (question := pipe.recv()) is not None:
        pipe.send(answer(question))


def in_threads(items: Iterable[Item], jobs: int, serve: Callable[[Iterator[Item]], None]) -> None:
    """Call `serve` in `jobs` threads, which take the items one by one."""
    waiting, lock = iter(items), threading.Lock()

    def taken() -> Iterator[Item]:
        while True:
            with lock:
                item = next(waiting, None)
            if item is None:
                return
            yield item

    threads = [threading.Thread(target=serve, args=(taken(),), daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
