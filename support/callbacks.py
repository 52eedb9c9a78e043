# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exception handling for calls into MLIR that call Python back.

MLIR is built without C++ exceptions. An exception that unwinds MLIR's frames skips their destructors and leaves
dangling pointers to registered objects. Therefore every function that MLIR calls is a `callback`. The wrapper stores
the exception and returns a value that makes MLIR stop. The `Entrance` around the call raises the stored exception.

A signal handler (Ctrl-C) may raise between any two bytecodes, also in the first bytecodes of a callback. Inside an
entrance, a handler runs only where an exception is safe; elsewhere the signal waits for the next safe point. Patterns
and passes stay interruptible while their own code runs.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal's own: without its enumerations, ten times as fast
import functools
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Handler = Callable[[int, "FrameType | None"], object]

#: `_fragile`: code in which an asynchronous exception breaks an invariant. `_caught`: functions whose exceptions a
#: callback stores.
_fragile: set[CodeType] = set()
_caught: set[CodeType] = set()
#: Pending signals with their handlers. Only the main thread runs handlers.
_waiting: deque[tuple[_Handler, int]] = deque()
# Minimum number of free stack frames for a callback. A recursion error must occur before MLIR is entered.
_LEAST_DEPTH = 40


class _Thread(threading.local):
    """Innermost entrance of the current thread, or None."""

    entrance: Entrance | None = None


_thread = _Thread()


class Entrance:
    """Context manager around a call into MLIR: `with Entrance() as entrance: ...`, then `entrance.check()`."""

    __slots__ = ("_handlers", "_is_main", "_outer", "error")

    def __init__(self) -> None:
        #: The exception that a callback has raised.
        self.error: BaseException | None = None
        self._outer: Entrance | None = None
        self._handlers: list[_Deferring] = []
        self._is_main = False

    def __enter__(self) -> Entrance:
        self._outer = _thread.entrance
        if self._outer is None:
            _descend(_LEAST_DEPTH)
            self._is_main = threading.current_thread() is threading.main_thread()
        else:
            self._is_main = self._outer._is_main
        try:
            if self._outer is None and self._is_main:
                self._defer_signals()
        except BaseException:
            _give_back(self._handlers)
            raise
        _thread.entrance = self
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> bool:
        _thread.entrance = self._outer
        _give_back(self._handlers)
        if self._outer is None and self._is_main:
            _deliver(sys._getframe(1))
        # MLIR's error about a failed callback is irrelevant once the callback's exception is stored.
        return self.error is not None

    def _defer_signals(self) -> None:
        for number in _SIGNALS:
            handler = _signal.getsignal(number)
            # SIG_DFL and SIG_IGN are numbers, and handlers that Python did not install are None.
            if callable(handler):
                deferring = _Deferring(number, handler)
                self._handlers.append(deferring)
                _signal.signal(number, deferring)

    def check(self) -> None:
        """Raise the stored exception, and run pending signal handlers. Call this method after the `with` statement."""
        if self.error is not None:
            raise self.error
        if _waiting and self._is_main and _is_harmless(sys._getframe(1)):
            _deliver(sys._getframe(1))


class _Deferring:
    """Signal handler for calls into MLIR: runs the user's handler at safe points and queues the signal elsewhere."""

    def __init__(self, number: int, handler: _Handler):
        self.number = number
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _is_harmless(frame):
            self.handler(number, frame)
        else:
            _waiting.append((self.handler, number))


@contextmanager
def deferred_signal(number: int, handler: _Handler) -> Iterator[None]:
    """Handle a signal in the main thread where an exception is safe. In MLIR's frames, the signal waits."""
    before = _signal.signal(number, _Deferring(number, handler))
    try:
        yield
    finally:
        _signal.signal(number, before)


# Real-time signals are excluded: they would double the number, and programs rarely use them.
_SIGNALS = [number for number in signal.valid_signals() if number < getattr(signal, "SIGRTMIN", signal.NSIG)]


def _give_back(handlers: list[_Deferring]) -> None:
    """Restore the signal handlers, all of them even if a handler raises meanwhile."""
    if not handlers:
        return
    deferring = handlers.pop()
    try:
        _give_back(handlers)
    finally:
        # Keep a handler that other code has installed meanwhile.
        current: object = _signal.getsignal(deferring.number)
        if current is deferring:
            _signal.signal(deferring.number, deferring.handler)


def _is_harmless(frame: FrameType | None) -> bool:
    """Check whether an exception raised in this frame can unwind through all outer frames safely."""
    inside: FrameType | None = None
    while frame is not None:
        if frame.f_code in _fragile and (inside is None or inside.f_code not in _caught):
            return False
        inside, frame = frame, frame.f_back
    return True


def _deliver(frame: FrameType | None) -> None:
    if not _waiting:
        return
    handler, number = _waiting.popleft()
    try:
        handler(number, frame)
    finally:
        _deliver(frame)


def _descend(depth: int) -> None:
    """Raise RecursionError unless this many nested calls are still possible."""
    if depth:
        _descend(depth - 1)


def fragile(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Mark a function that changes or restores global state: signals wait until the function returns."""
    _fragile.add(function.__code__)
    return function


for _method in (Entrance.__enter__, Entrance.__exit__, Entrance._defer_signals, _give_back):
    fragile(_method)


def callback(
    failed: _Result, clean_up: Callable[[], None] | None = None
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Decorate a function that MLIR calls.

    After an exception, MLIR gets `failed` until the entrance ends.

    `clean_up` runs after the function has raised. A `fragile` function never raises, and is returned unchanged.
    """

    def decorate(function: Callable[..., _Result]) -> Callable[..., _Result]:
        if getattr(function, "__code__", None) in _fragile:
            return function

        def call(*arguments: object) -> _Result:
            entrance = _thread.entrance
            try:
                if entrance is None:
                    return function(*arguments)
                if entrance.error is not None:
                    return failed
                if _waiting and entrance._is_main and _is_harmless(sys._getframe(1)):
                    _deliver(sys._getframe(1))
                return function(*arguments)
            except BaseException as error:
                if entrance is None:
                    raise
                entrance.error = error
                if clean_up is not None:
                    clean_up()
                return failed

        _fragile.add(call.__code__)
        _caught.add(function.__code__)
        return call

    return decorate


def enters(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a function that calls back from MLIR, or a larger task with many such calls."""

    # The qualified names of the bindings' static functions are not strings.
    has_name = isinstance(getattr(function, "__qualname__", None), str)
    named = [name for name in functools.WRAPPER_ASSIGNMENTS if has_name or name != "__qualname__"]

    @functools.wraps(function, assigned=named)
    def enter(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        with Entrance() as entrance:
            result = function(*arguments, **options)
        entrance.check()
        return result

    return enter
