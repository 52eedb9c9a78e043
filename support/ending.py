# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interpreter's end: threads begin nothing new, what they are at comes to its end, then what that needs goes.

A daemon thread that comes back from native code behind the interpreter's end is ended by CPython where it stands,
through C++ frames that no exception may pass: the process would abort. So exit waits for whoever is in this package.
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

_PACKAGE = __name__.partition(".")[0]


class Ending:
    """`has_begun`: for whoever has no time to call `refuse_at_end`."""

    def __init__(self) -> None:
        self.has_begun = False
        self.refused: set[threading.Thread] = set()
        self.last: list[Callable[[], object]] = []

    def run(self) -> None:
        self.has_begun = True
        _wait(lambda: not any(map(_is_ours, _others())), _PATIENCE_S)
        _wait(lambda: not any(each.is_alive() for each in list(self.refused)), _TO_END_S)
        while self.last:
            self.last.pop()()


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


def _others() -> Iterator[FrameType]:
    """What the other threads are at."""
    own = threading.get_ident()
    return (frame for thread, frame in sys._current_frames().items() if thread != own)


def _is_ours(innermost: FrameType) -> bool:
    frame: FrameType | None = innermost
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(f"{_PACKAGE}."):
            return True
        frame = frame.f_back
    return False


def _wait(is_done: Callable[[], bool], longest_s: float) -> None:
    end = time.monotonic() + longest_s
    while not is_done() and time.monotonic() < end:
        time.sleep(0.002)
