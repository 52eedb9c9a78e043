# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time limit of a codegen's `compile()`, and a warning about one that takes long.

`compile()` runs in the program's own process: its result depends on MLIR's module and on what users have registered.
A signal ends it where Ctrl-C may: `deferred_signal` waits for the end of MLIR's frames. A blocking call ends at once,
such as sleep() or a wait for a compiler. Other threads than the main one get no signals, and native code that never
returns cannot be ended: there a warning names the codegen.
"""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ....support.callbacks import deferred_signal
from ....support.errors import OptionError

#: Environment variable with the limit of all codegens in seconds, instead of their classes'.
LIMIT = "RELAX_CODEGEN_LIMIT"
#: Seconds after which a warning tells that a codegen without a limit still compiles.
_LONG = 60.0


class TooLong(BaseException):
    """End of a `compile()` at its limit. No codegen's `except Exception` catches it."""


def limit_of(declared: float | None) -> float | None:
    """Return the seconds that a `compile()` may take: of the environment, else as the class declares."""
    if not (given := os.environ.get(LIMIT, "")):
        return declared
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise OptionError(f"{LIMIT}={given}: expected a number of seconds above 0")
    return seconds


def problem_of(codegen: str, part: str, seconds: float) -> str:
    """Return the reason of a declined part."""
    return (
        f"compile() of codegen '{codegen}' took more than {seconds:g} s for part '{part}' "
        f"(compile_limit of its class, or {LIMIT})"
    )


@contextmanager
def limit_time(codegen: str, part: str, seconds: float | None) -> Iterator[None]:
    """Raise TooLong in the body after a number of seconds; where this is impossible, warn."""
    if seconds is not None and _has_alarm():
        with _alarm(seconds):
            yield
        return
    text = f"codegen '{codegen}' has compiled part '{part}' for {seconds or _LONG:g} s and still does"
    hint = "" if seconds is not None else f"; its compile_limit, or {LIMIT}, in seconds ends this"
    timer = threading.Timer(seconds or _LONG, warnings.warn, (text + hint, RuntimeWarning))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _has_alarm() -> bool:
    """Check whether this thread gets signals, and nothing else uses the alarm clock."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and hasattr(signal, "setitimer") and signal.getitimer(signal.ITIMER_REAL)[0] == 0


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    is_running = True

    def end(number: int, frame: object) -> None:
        if is_running:  # a signal that had to wait may come late
            raise TooLong

    with deferred_signal(signal.SIGALRM, end):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            is_running = False
            signal.setitimer(signal.ITIMER_REAL, 0)
