# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Crash guard: runs a tool in a child process, so that a crash inside of MLIR becomes an error with exit code 1.

The wheel is a release build without assertions, so malformed input can crash the process inside of C++. Forking costs
half a millisecond, because it happens before anything large is imported.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ...support.errors import RelaxError
from ...support.files import hidden_sibling, is_special, mode_of, replacing

# Notes that the child leaves for its parent in case it dies.
_stage: mmap.mmap | None = None
_legacy: mmap.mmap | None = None
_watched: mmap.mmap | None = None
# Set when the child ends regularly, because a library may call exit().
_ended: mmap.mmap | None = None
_NOTE_BYTES = 8192
#: Ends the child. os._exit skips exit handlers, which belong to the parent; a plug-in may load a library that has some.
end_process: Callable[[int], Any] = os._exit

_CAUSES: dict[int, str] = {
    # SIGKILL without a message usually comes from the system.
    signal.SIGKILL: "was killed (out of memory?)",
    signal.SIGALRM: "gave up, because MLIR did not come to an end",
    # Weights of models are memory-mapped files.
    signal.SIGBUS: "an input file was truncated while it was read (SIGBUS)",
}

#: Shells add 128 to the number of the signal that ended a process: 130 after Ctrl-C, 143 after SIGTERM.
_SIGNALLED = 128
#: Exit code of a child that ended on request.
_INTERRUPTED = _SIGNALLED + signal.SIGINT
# Grace period before a child is killed, because C++ code does not notice the request.
_GRACE_S = 3.0
# Seconds until a long stage is first reported. The time doubles for each further report.
_LONG_S = 10.0


def announce(stage: str) -> None:
    """Record the current stage for the message in case the process dies."""
    _leave_note(_stage, stage.encode("utf-8", "replace"))


def current_stage() -> str:
    return _read_note(_stage).decode("utf-8", "replace")


def doing() -> str:
    """Return the end of a message: ` while <stage>`, or nothing."""
    return f" while {current_stage()}" if current_stage() else ""


def tell_long_stages() -> None:
    """Let the parent of this process report long stages, even if they block Python."""
    _leave_note(_watched, b"yes")


class Patience:
    """Decides when a long stage is reported."""

    def __init__(self) -> None:
        self._stage = ""
        self._since, self._due = 0.0, _LONG_S

    def line(self, stage: str, now: float) -> str:
        """Return the report at a time of any clock, or an empty text."""
        if stage != self._stage:
            self._stage, self._since, self._due = stage, now, _LONG_S
        seconds = now - self._since
        if not stage or seconds < self._due:
            return ""
        self._due = 2 * seconds
        return f"still {stage}, for {seconds:.0f} seconds"


@contextlib.contextmanager
def kept_on_death(path: str, data: bytes, what: str) -> Iterator[str | None]:
    """Write these bytes to a hidden file, which the parent renames to `path` if the process dies inside.

    Yield its name, or None if no file can replace `path`. `what` describes the file in a RelaxError.
    """
    if is_special(path):
        yield None
        return
    kept = hidden_sibling(os.path.realpath(path))
    try:
        with replacing(kept, mode=mode_of(path)) as file:
            file.write(data)
    except OSError as error:
        raise RelaxError(f"cannot write {what} '{path}': {error.strerror}") from None
    _leave_note(_legacy, os.fsencode(kept) + b"\n" + os.fsencode(path))
    try:
        yield kept
    finally:
        _leave_note(_legacy, b"")
        os.unlink(kept)


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End the guarded process if the enclosed code takes longer, also in C++. Without a guard nothing happens."""
    if _stage is None:
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _leave_note(place: mmap.mmap | None, note: bytes) -> None:
    if place is not None:
        note = note[: _NOTE_BYTES - 1]
        place[: len(note) + 1] = note + b"\0"


def _read_note(place: mmap.mmap | None) -> bytes:
    return b"" if place is None else bytes(place).partition(b"\0")[0]


def open_missing_streams() -> None:
    """Open the standard streams that are closed at start (`>&-`), so that no other file gets their numbers.

    They fail on use, except for stderr, which is never read.
    """
    for number, name, mode, flags in (
        (0, "stdin", "r", os.O_WRONLY),
        (1, "stdout", "w", os.O_RDONLY),
        (2, "stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            os.open(os.devnull, flags)  # gets the lowest free number
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115  # open as long as the process


def run_guarded(name: str, work: Callable[[], int], *, blamed: str = "MLIR") -> int:
    """Run `work` in a child process.

    Return its exit code: 0, or 1 for any failure. `blamed` names the code that may crash.
    """
    global _stage, _legacy, _watched, _ended
    open_missing_streams()
    if not hasattr(os, "fork"):
        return 1 if work() else 0
    _stage, _legacy, _watched, _ended = (mmap.mmap(-1, _NOTE_BYTES) for _ in range(4))
    sys.stdout.flush()
    # Blocked until both processes are ready to handle them.
    held_back = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, held_back)
    child = os.fork()
    if child == 0:
        _run_child(name, work, held_back)
    came = _pass_on_signals(child, name)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, held_back)
    status = os.waitpid(child, 0)[1]
    signal.setitimer(signal.ITIMER_REAL, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        _report_death(name, _CAUSES.get(number) or f"{blamed} crashed ({signal.Signals(number).name})", bool(came))
        return _SIGNALLED + came[0] if came else 1
    if not _read_note(_ended):
        _report_death(name, f"a library ended the process by exit({os.WEXITSTATUS(status)})", bool(came))
        return 1
    if os.WEXITSTATUS(status) == _INTERRUPTED:
        sys.stderr.write(f"{name}: error: interrupted\n")
        return _SIGNALLED + (came[0] if came else signal.SIGINT)
    return 1 if os.WEXITSTATUS(status) else 0


def _run_child(name: str, work: Callable[[], int], held_back: set[signal.Signals]) -> None:
    def interrupt(signal_number: int, frame: object) -> None:
        # A second signal would interrupt the cleanup. (Python complains if SIG_IGN meets a pending signal.)
        for number in held_back:
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    def again(lost: sys.UnraisableHookArgs) -> None:
        # The exception was raised in a destructor or weakref callback, which swallows exceptions, as this function
        # does. The signal is therefore sent again a little later. A thread sends it, because `limited` uses the
        # process's timer.
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        import threading  # imported here to keep the start fast

        signal.signal(signal.SIGINT, interrupt)
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()

    code = 1
    try:
        sys.unraisablehook = again
        for number in held_back:
            signal.signal(number, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held_back)
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED  # the parent reports it, as it does for a child that is killed
    finally:
        _leave_note(_ended, b"yes")
        end_process(code if code == _INTERRUPTED else 1 if code else 0)


def _pass_on_signals(child: int, name: str) -> list[int]:
    """Forward signals to the child. Return a list that collects the received signals."""
    came: list[int] = []
    patience = Patience()

    def pass_on(number: int, frame: object) -> None:
        # A terminal sends Ctrl-C to both processes, but other sources do not.
        came.append(number)
        _kill(child, signal.SIGTERM if len(came) == 1 else signal.SIGKILL)
        signal.setitimer(signal.ITIMER_REAL, _GRACE_S)

    def tick(number: int, frame: object) -> None:
        if came:
            _kill(child, signal.SIGKILL)
        elif _read_note(_watched) and (line := patience.line(current_stage(), time.monotonic())):
            sys.stderr.write(f"{name}: note: {line}\n")
            sys.stderr.flush()

    signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
    signal.signal(signal.SIGINT, pass_on)
    signal.signal(signal.SIGTERM, pass_on)
    return came


def _kill(child: int, number: int) -> None:
    # The child may have ended just now.
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _report_death(name: str, what: str, was_interrupted: bool) -> None:
    temporary, _, path = _read_note(_legacy).partition(b"\n")
    if was_interrupted:
        if temporary:
            os.unlink(temporary)
        sys.stderr.write(f"{name}: error: interrupted\n")
        return
    sys.stderr.write(f"{name}: error: {what}{doing()}\n")
    if temporary:
        os.replace(temporary, path)
        sys.stderr.write(f"{name}: note: a reproducer was written to {os.fsdecode(path)}\n")
