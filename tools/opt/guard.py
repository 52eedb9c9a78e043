# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a tool in a child process, so that a crash inside MLIR becomes an error with exit code 1.

The wheel is a release build without assertions: malformed input can take the process down inside C++. Forking
costs half a millisecond, because it happens before anything large is imported.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
from collections.abc import Callable

_stage: mmap.mmap | None = None
_STAGE_BYTES = 1024


def announce(stage: str) -> None:
    """Notes what is going on, for the message should the process die of it."""
    if _stage is not None:
        text = stage.encode("utf-8", "replace")[: _STAGE_BYTES - 1]
        _stage[: len(text) + 1] = text + b"\0"


def run_guarded(name: str, work: Callable[[], int]) -> int:
    """The exit code of `work`, run in a child process: 0, or 1 for any failure."""
    global _stage
    if not hasattr(os, "fork"):
        return 1 if work() else 0
    _stage = mmap.mmap(-1, _STAGE_BYTES)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _run_child(work)
    status = _wait(child)
    if os.WIFSIGNALED(status):
        _report_death(name, os.WTERMSIG(status))
        return 1
    return 1 if os.WEXITSTATUS(status) else 0


def _run_child(work: Callable[[], int]) -> None:
    code = 1
    try:
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        code = 0
    finally:
        # Not sys.exit: the parent's exit handlers are not the child's to run.
        os._exit(1 if code else 0)


def _wait(child: int) -> int:
    # The terminal sends Ctrl-C to both; the child answers it. A termination meant for us ends the child too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    return os.waitpid(child, 0)[1]


def _report_death(name: str, number: int) -> None:
    if number == signal.SIGTERM:
        return
    stage = bytes(_stage or b"").partition(b"\0")[0].decode("utf-8", "replace") if _stage else ""
    doing = f" while {stage}" if stage else ""
    sys.stderr.write(f"{name}: error: MLIR crashed ({signal.Signals(number).name}){doing}\n")
