# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orderly shutdown at interpreter exit: refuse new work, wait for running threads, then release resources.

A daemon thread may return from native code after the interpreter's end. CPython then unwinds C++ frames that must not
see exceptions, and the process aborts. Therefore exit waits for all threads that run code of this package. A foreign
function that this package has called, such as a packed function or a rule, may never return. Such a thread gets
SystemExit. A thread that does not react, for example in a lock, ends with the process.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from .errors import RelaxError
from .importing import is_own_module

#: Seconds that exit waits for running work, and for threads whose requests were refused.
_PATIENCE_S, _TO_END_S = 30.0, 1.0
#: Seconds that exit waits for called foreign functions: first to return, then to react to SystemExit.
_OF_OTHERS_S = 0.5


class Ending:
    """State of the shutdown. Code that cannot afford to call `refuse_at_end` reads `has_begun`."""

    def __init__(self) -> None:
        self.has_begun = False
        self.refused: set[threading.Thread] = set()
        self.last: list[Callable[[], object]] = []

    def run(self) -> None:
        self.has_begun = True
        self._wait_for_others()
        _wait(lambda: not any(map(_is_ours, _others().values())), _PATIENCE_S)
        _wait(lambda: not any(each.is_alive() for each in list(self.refused)), _TO_END_S)
        while self.last:
            self.last.pop()()

    def _wait_for_others(self) -> None:
        """Wait for foreign functions called by this package, in threads that may also run code of this package."""
        for is_second in (False, True):
            if is_second:
                for thread in _find_foreign_callers():
                    _raise_in(thread, SystemExit)
            _wait(lambda: not _find_foreign_callers(), _OF_OTHERS_S)


ending = Ending()
atexit.register(ending.run)


def at_end(function: Callable[[], object]) -> None:
    """Call a function at interpreter exit, when no thread needs its resources. Last registered functions run first."""
    ending.last.append(function)


def refuse_at_end(what: str) -> None:
    """Raise RelaxError if the interpreter is ending, in all threads except the main thread."""
    if not ending.has_begun or threading.current_thread() is threading.main_thread():
        return
    ending.refused.add(threading.current_thread())
    raise RelaxError(f"{what}: the interpreter is ending; end this thread before, or join it")


def _others() -> dict[int, FrameType]:
    """Return the innermost frames of all other threads."""
    own = threading.get_ident()
    return {thread: frame for thread, frame in sys._current_frames().items() if thread != own}


def _is_ours(innermost: FrameType) -> bool:
    """Check whether a thread runs code of this package, and not a foreign function that the package has called."""
    return any(map(_is_in_package, _outwards(innermost))) and not _is_called(innermost)


def _find_foreign_callers() -> list[int]:
    """Return the threads that run a foreign function called by this package."""
    return [thread for thread, innermost in _others().items() if _is_called(innermost)]


def _is_called(innermost: FrameType) -> bool:
    """Check whether a thread runs a foreign function called by this package.

    Standard library frames count as their callers'.
    """
    callers = [outward for outward in _outwards(innermost) if _root(outward) not in sys.stdlib_module_names]
    return any(map(_is_in_package, callers)) and not _is_in_package(callers[0])


def _outwards(innermost: FrameType) -> Iterator[FrameType]:
    """Yield a frame and its callers, innermost first."""
    frame: FrameType | None = innermost
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_in_package(frame: FrameType) -> bool:
    return is_own_module(_root(frame))


def _root(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an exception in a thread as soon as the thread runs Python code."""
    import ctypes  # many tools never need ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _wait(is_done: Callable[[], bool], longest_s: float) -> None:
    end = time.monotonic() + longest_s
    while not is_done() and time.monotonic() < end:
        time.sleep(0.002)
