# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of work in forked processes. A crash is an outcome like any other, and the next case continues."""

from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

#: Callback for the death of a process: its signal, exit code or timeout, and the phase.
Died = Callable[[str, int], Any]
_CASES_OF_A_PROCESS = 200  # memory grows: guarded arrays and loaded code are never freed


_phase = mmap.mmap(-1, 1)


def enter(phase: int) -> None:
    """Record the phase of this process, in case it dies."""
    _phase[0] = phase


class _Worker:
    """A process that runs the cases sent to it."""

    def __init__(self, function: Callable[..., Any]):
        global _phase
        ours, theirs = os.pipe(), os.pipe()
        self.phase = _phase = mmap.mmap(-1, 1)
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            os.close(ours[1])
            os.close(theirs[0])
            _serve(function, ours[0], theirs[1])
        os.close(ours[0])
        os.close(theirs[1])
        self._orders, self.results = ours[1], theirs[0]
        self.arguments: tuple[Any, ...] = ()
        self.begun = 0.0
        self.done = 0

    def start(self, arguments: tuple[Any, ...]) -> None:
        self.arguments, self.begun = arguments, time.monotonic()
        _send(self._orders, arguments)

    def end(self, *, killed: bool = True) -> int:
        """Return the exit code.

        A worker that waits for orders does not see their end, because workers forked later share the pipe.
        """
        if killed:
            os.kill(self.process, signal.SIGKILL)
        os.close(self._orders)
        os.close(self.results)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def run(
    function: Callable[..., Any],
    queue: Iterator[tuple[Any, ...]],
    jobs: int,
    end: float | None,
    patience_s: float,
    died: Died,
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield arguments and results as they arrive, until the queue or the time is up."""
    workers: dict[int, _Worker] = {}

    def feed(worker: _Worker | None) -> None:
        arguments = next(queue, None) if end is None or time.monotonic() < end else None
        if worker is not None and (arguments is None or worker.done >= _CASES_OF_A_PROCESS):
            del workers[worker.results]
            worker.end()
            worker = None
        if arguments is not None:
            worker = worker or _Worker(function)
            workers[worker.results] = worker
            worker.start(arguments)

    for _ in range(jobs):
        feed(None)
    while workers:
        ready, _, _ = select.select(list(workers), [], [], 1.0)
        for descriptor in ready:
            worker = workers[descriptor]
            known, outcome = _receive(descriptor)
            if known:
                worker.done += 1
                yield worker.arguments, outcome
                feed(worker)
            else:
                del workers[descriptor]
                yield worker.arguments, died(_cause(worker.end(killed=False)), worker.phase[0])
                feed(None)
        for worker in [each for each in workers.values() if time.monotonic() - each.begun > patience_s]:
            del workers[worker.results]
            worker.end()
            yield worker.arguments, died(f"no result in {patience_s:.0f} s", worker.phase[0])
            feed(None)


def alone(function: Callable[[], Any], patience_s: float, died: Died) -> Any:
    """Return the function's result, computed in a process of its own."""
    ((_, outcome),) = run(lambda *_: function(), iter([((),)]), 1, None, patience_s, died)
    return outcome


def _serve(function: Callable[..., Any], orders: int, results: int) -> NoReturn:
    """Run cases in the child process until there are no more."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Crash messages on stderr would hide the report.
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 2)
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE):
            signal.signal(number, signal.SIG_DFL)
        while True:
            known, arguments = _receive(orders)
            if not known:
                os._exit(0)
            try:
                _send(results, (True, function(*arguments)))
            except Exception:  # reported to the parent, which shows it
                _send(results, (False, traceback.format_exc(limit=-6)))
    finally:
        os._exit(70)


def _send(descriptor: int, value: Any) -> None:
    data = pickle.dumps(value)
    data = struct.pack("<q", len(data)) + data
    while data:
        data = data[os.write(descriptor, data) :]


def _receive(descriptor: int) -> tuple[bool, Any]:
    head = _read(descriptor, 8)
    if len(head) < 8:
        return False, None
    value = pickle.loads(_read(descriptor, struct.unpack("<q", head)[0]))
    if isinstance(value, tuple) and len(value) == 2 and value[0] is False:
        raise RuntimeError(f"the case runner failed:\n{value[1]}")
    return True, value[1] if isinstance(value, tuple) and len(value) == 2 and value[0] is True else value


def _read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (part := os.read(descriptor, size - len(data))):
            break
        data += part
    return data


def _cause(code: int) -> str:
    return (
        f"the process died of {signal.Signals(-code).name}" if code < 0 else f"the process ended with exit code {code}"
    )
