# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interpreter's end: threads begin nothing new, what they are at comes to its end, then what that needs goes.

A daemon thread that comes back from native code behind the interpreter's end is ended by CPython where it stands,
through C++ frames that no exception may pass: the process would abort. So exit waits for whoever is in this package.
What this package has called there, a packed function or a rule, may wait for ever: it is asked to end, by SystemExit,
and what does not notice that, in a lock for instance, ends with the process.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from .errors import RelaxError

#: How long exit waits for what is under way, and for threads to end that were refused something, in seconds.
_PATIENCE_S, _TO_END_S = 30.0, 1.0
#: For functions of others that have been called: to come to an end, and to notice that they should.
_OF_OTHERS_S = 0.5

_PACKAGE = __name__.partition(".")[0]


class Ending:
    """`has_begun`: for whoever has no time to call `refuse_at_end`."""

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
        """For functions of others, in threads that may be in this package as well."""
        for is_second in (False, True):
            if is_second:
                for thread in _in_calls_of_others():
                    _raise_in(thread, SystemExit)
            _wait(lambda: not _in_calls_of_others(), _OF_OTHERS_S)


ending = Ending()
atexit.register(ending.run)


def at_end(function: Callable[[], object]) -> None:
    """Calls it when the interpreter ends and no thread needs anything any more; what was asked for last comes first."""
    ending.last.append(function)


def refuse_at_end(what: str) -> None:
    """Raises RelaxError where the interpreter ends, in all threads but the one that ends it."""
    if not ending.has_begun or threading.current_thread() is threading.main_thread():
        return
    ending.refused.add(threading.current_thread())
    raise RelaxError(f"{what}: the interpreter is ending; end this thread before, or join it")


def _others() -> dict[int, FrameType]:
    """What the other threads are at."""
    own = threading.get_ident()
    return {thread: frame for thread, frame in sys._current_frames().items() if thread != own}


def _is_ours(innermost: FrameType) -> bool:
    """Whether this package is at work, and not a function of others that it has called."""
    callers = _outwards(innermost)
    return any(map(_is_in_package, callers)) and not _is_called(innermost)


def _in_calls_of_others() -> list[int]:
    """The threads that are in a function of others which this package has called."""
    return [thread for thread, innermost in _others().items() if _is_called(innermost)]


def _is_called(innermost: FrameType) -> bool:
    """What the standard library does is done for who has called it."""
    callers = [each for each in _outwards(innermost) if _root(each) not in sys.stdlib_module_names]
    return any(map(_is_in_package, callers)) and not _is_in_package(callers[0])


def _outwards(innermost: FrameType) -> Iterator[FrameType]:
    """A frame, who has called it, and so on."""
    frame: FrameType | None = innermost
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_in_package(frame: FrameType) -> bool:
    return _root(frame) == _PACKAGE


def _root(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Where a thread is in Python, or comes back to it."""
    import ctypes  # many tools do without

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _wait(is_done: Callable[[], bool], longest_s: float) -> None:
    end = time.monotonic() + longest_s
    while not is_done() and time.monotonic() < end:
        time.sleep(0.002)
