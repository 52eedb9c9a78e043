# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a process while daemon threads call programs. Python ends such threads where they next take its lock;
where frames of C++ are around, that aborts the process. So calls are waited for, and later ones do not return.
"""

from __future__ import annotations

import atexit
import threading
import time

#: How long calls are waited for, and threads between two calls, in seconds.
_LONGEST, _BETWEEN = 10.0, 0.02

_running: list[None] = []
_never = threading.Lock()
_is_over = False


def begin() -> None:
    """A call begins."""
    if _is_over:
        _park()
    _running.append(None)


def end() -> None:
    """The call ends, whatever came of it."""
    _running.pop()
    if _is_over:
        _park()


def _park() -> None:
    if threading.current_thread() is not threading.main_thread():
        _never.acquire()


@atexit.register
def _wait() -> None:
    global _is_over
    _never.acquire(blocking=False)
    _is_over = True
    latest = time.monotonic() + _LONGEST
    time.sleep(_BETWEEN)
    while _running and time.monotonic() < latest:
        time.sleep(_BETWEEN)
