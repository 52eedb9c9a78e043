# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Safe process exit while daemon threads call programs.

Python ends such threads when they next acquire its lock, which aborts the process inside C++ frames. Therefore exit
waits for running calls, and later calls never return.
"""

from __future__ import annotations

import atexit
import threading
import time

#: Seconds that exit waits for running calls, and between two checks.
_LONGEST, _BETWEEN = 10.0, 0.02

_running: list[None] = []
_never = threading.Lock()
_is_over = False


def begin() -> None:
    """Record the start of a call."""
    if _is_over:
        _park()
    _running.append(None)


def end() -> None:
    """Record the end of a call, successful or not."""
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
