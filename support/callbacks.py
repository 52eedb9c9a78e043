# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls into MLIR that call Python back, and what becomes of exceptions on the way.

MLIR's C++ is built without exceptions: one that passes through its frames skips their destructors, and what they have
registered stays behind as a dangling pointer. So a function that MLIR calls is a `callback`: what it raises is noted,
MLIR gets an answer that makes it stop, and the `Entrance` around the call raises what was noted.

A signal's handler (Ctrl-C) may raise between any two bytecodes, a callback's first ones included. Inside of an
entrance such a handler is asked only where an exception does no harm; elsewhere the signal waits for the next place
that does. Patterns and passes stay interruptible while their own code runs.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal's own: without its enumerations, ten times as fast
import functools
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import CodeType, FrameType
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Handler = Callable[[int, "FrameType | None"], object]

#: Code in which an exception out of nowhere breaks something, unless it comes out of a function that is caught there.
_fragile: set[CodeType] = set()
_caught: set[CodeType] = set()
#: Signals that wait, with the handlers that they are for. Handlers run in the main thread only.
_waiting: deque[tuple[_Handler, int]] = deque()
# Frames that a callback needs at least: where there are fewer, the error must come before MLIR is entered.
_LEAST_DEPTH = 40


class _Thread(threading.local):
    """The entrance that this thread is in, if it is."""

    entrance: Entrance | None = None


_thread = _Thread()


class Entrance:
    """Around a call into MLIR: `with Entrance() as entrance: ...`, and then `entrance.check()`."""

    __slots__ = ("_handlers", "_is_main", "_outer", "error")

    def __init__(self) -> None:
        #: What a callback has raised.
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
        # What MLIR says of a callback that did not do its work is of no interest.
        return self.error is not None

    def _defer_signals(self) -> None:
        for number in _SIGNALS:
            handler = _signal.getsignal(number)
            # Not SIG_DFL and SIG_IGN, which are numbers, nor what is not Python's.
            if callable(handler):
                deferring = _Deferring(number, handler)
                self._handlers.append(deferring)
                _signal.signal(number, deferring)

    def check(self) -> None:
        """Raises what was noted, after the `with`."""
        if self.error is not None:
            raise self.error
        if _waiting and self._is_main and _is_harmless(sys._getframe(1)):
            _deliver(sys._getframe(1))


class _Deferring:
    """A signal's handler while MLIR is entered: it asks the user's own where that may raise."""

    def __init__(self, number: int, handler: _Handler):
        self.number = number
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if _is_harmless(frame):
            self.handler(number, frame)
        else:
            _waiting.append((self.handler, number))


# Without the real-time signals, which are as many again and hardly anybody's.
_SIGNALS = [number for number in signal.valid_signals() if number < getattr(signal, "SIGRTMIN", signal.NSIG)]


def _give_back(handlers: list[_Deferring]) -> None:
    """Whatever handler raises on the way, the others are given back too."""
    if not handlers:
        return
    deferring = handlers.pop()
    try:
        _give_back(handlers)
    finally:
        # Somebody may have set another one meanwhile.
        current: object = _signal.getsignal(deferring.number)
        if current is deferring:
            _signal.signal(deferring.number, deferring.handler)


def _is_harmless(frame: FrameType | None) -> bool:
    """Whether an exception that is raised in this frame, and goes out through all others, breaks nothing."""
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
    """Raises RecursionError where no more than this many calls are left."""
    if depth:
        _descend(depth - 1)


def fragile(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """For a function that sets state or gives it back: signals wait until it is through."""
    _fragile.add(function.__code__)
    return function


for _method in (Entrance.__enter__, Entrance.__exit__, Entrance._defer_signals, _give_back):
    fragile(_method)


def callback(
    failed: _Result, clean_up: Callable[[], None] | None = None
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """For a function that MLIR calls. When it raises, MLIR gets `failed` instead, then and until the entrance ends.

    `clean_up` is called after it has raised. A `fragile` function raises nothing itself, and is called as it is.
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
    """For a function of the bindings that calls back, and for a larger piece of work with many such calls."""

    # The bindings' static functions have a qualified name that is no text.
    has_name = isinstance(getattr(function, "__qualname__", None), str)
    named = [name for name in functools.WRAPPER_ASSIGNMENTS if has_name or name != "__qualname__"]

    @functools.wraps(function, assigned=named)
    def enter(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        with Entrance() as entrance:
            result = function(*arguments, **options)
        entrance.check()
        return result

    return enter
