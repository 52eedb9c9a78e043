# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Queue of calls that take long: a thread runs them in order, and events tell when their results are there."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from queue import Queue
from typing import Any

from relax_mlir.runtime.foreign_types import Tensor

from ..jax_exit import begin, end
from .c_handles import Held, hold
from .entries import Error, entry

#: First words of events: without an error, and with one. Their lowest byte is the answer to PJRT_Event_IsReady.
_HAPPENED, _FAILED = 0x001, 0x101
#: Event that has happened. C code does not release it, because of its second word.
HAPPENED = hold(Held(_HAPPENED, 1))
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
#: Queued calls at most, as results take memory.
_MOST = 32
#: Longest wait for queued calls at the end of the process, in seconds.
_LONGEST = 10.0


class QueuedCall:
    """Call that is queued, running or done. Its results exist once it is done."""

    def __init__(self, run: Callable[[], Sequence[Tensor]]) -> None:
        self._run: Callable[[], Sequence[Tensor]] | None = run
        self._results: Sequence[Tensor] = ()
        self.error: BaseException | None = None
        #: Arrays that get the results, until then.
        self.arrays: list[Any] = []
        self._lock, self._is_done = threading.Lock(), threading.Event()
        self._events: list[CallEvent] = []

    def run(self) -> None:
        """Run the call, and tell all that wait for it."""
        assert self._run is not None
        try:
            self._results = self._run()
            for array, result in zip(self.arrays, self._results, strict=True):
                array.take_result(result)
        except BaseException as error:  # callers get it, from each result
            self.error = error
        self._run = None
        self.arrays.clear()
        with self._lock:
            self._is_done.set()
            events, self._events = self._events, []
        for event in events:
            event.happen()

    def results(self) -> Sequence[Tensor]:
        """Wait for the results. Raise the error of the call."""
        self.wait()
        if self.error is not None:
            raise self.error
        return self._results

    def wait(self, seconds: float | None = None) -> None:
        self._is_done.wait(seconds)

    def event(self) -> int:
        """Return a new event for C code: the end of the call."""
        event = CallEvent(self)
        with self._lock:
            is_done = self._is_done.is_set()
            if not is_done:
                self._events.append(event)
        if is_done:
            event.happen()
        return hold(event)


class CallEvent(Held):
    """End of a call for C code, which owns the event."""

    def __init__(self, call: QueuedCall) -> None:
        super().__init__()
        self.call = call
        self._lock = threading.Lock()
        self._callbacks: list[tuple[int, int]] = []

    def happen(self) -> None:
        with self._lock:
            self.node[2] = _HAPPENED if self.call.error is None else _FAILED
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._tell(*callback)

    def on_ready(self, callback: int, argument: int) -> None:
        with self._lock:
            if not self.node[2]:
                self._callbacks.append((callback, argument))
                return
        self._tell(callback, argument)

    def _tell(self, callback: int, argument: int) -> None:
        error = self.call.error
        _CALLBACK(callback)(None if error is None else hold(Error(error)), argument)


@entry("Event_Await", "Event_Error")
def _wait(arguments: ctypes.Structure, event: CallEvent) -> None:
    event.call.results()


@entry("Event_OnReady")
def _on_ready(arguments: ctypes.Structure, event: CallEvent) -> None:
    event.on_ready(arguments.callback, arguments.argument)


class _Queue:
    def __init__(self) -> None:
        self._calls: Queue[QueuedCall | None] = Queue(_MOST)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def add(self, call: QueuedCall) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="relax-jax-calls", daemon=True)
                self._thread.start()
            self._calls.put(call)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            begin()
            try:
                call.run()
            finally:
                end()
            del call  # and its results, while this thread waits

    def finish(self) -> None:
        """Wait until the calls that are queued now have ended: no child process and no exit interrupts them."""
        if self._thread is not None and self._thread is not threading.current_thread():
            last = QueuedCall(tuple)
            self.add(last)
            last.wait(_LONGEST)

    def end(self) -> None:
        """End the thread after the calls that are queued now."""
        self.finish()
        if (thread := self._thread) is not None:
            self._calls.put(None)
            thread.join(_LONGEST)


_queue = _Queue()


def submit(call: QueuedCall) -> None:
    """Queue a call."""
    _queue.add(call)


def end_calls() -> None:
    _queue.end()


def _begin_anew() -> None:
    """Start with an empty queue in a child process, which has no threads."""
    global _queue
    _queue = _Queue()


os.register_at_fork(before=lambda: _queue.finish(), after_in_child=_begin_anew)
