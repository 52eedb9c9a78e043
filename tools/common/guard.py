# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a tool in a child process, so that a crash inside MLIR becomes an error with exit code 1.

The wheel is a release build without assertions: malformed input can take the process down inside C++. Forking
costs half a millisecond, because it happens before anything large is imported.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

from ...support.errors import RelaxError
from ...support.files import hidden_sibling, is_special, mode_of, replacing

# What the child leaves behind for its parent, should it die.
_stage: mmap.mmap | None = None
_legacy: mmap.mmap | None = None
_watched: mmap.mmap | None = None
# Whether it came to its own end: a library may call exit().
_ended: mmap.mmap | None = None
_NOTE_BYTES = 8192

_CAUSES: dict[int, str] = {
    # Only the system kills without a word.
    signal.SIGKILL: "was killed (out of memory?)",
    signal.SIGALRM: "gave up, because MLIR did not come to an end",
    # Weights of models are read where they are in the file.
    signal.SIGBUS: "a file that it read became shorter meanwhile (SIGBUS)",
}

#: Shells add this to the number of the signal that ended a process: 130 after Ctrl-C, 143 after SIGTERM.
_SIGNALLED = 128
#: Exit code of a child that was asked to end and has done so.
_INTERRUPTED = _SIGNALLED + signal.SIGINT
# How long a child that is asked to end may take before it is killed: inside of C++ it does not notice.
_GRACE_S = 3.0
# When a stage is reported to take long for the first time; then each time after twice as long.
_LONG_S = 10.0


def announce(stage: str) -> None:
    """Notes what is going on, for the message should the process die of it."""
    _leave_note(_stage, stage.encode("utf-8", "replace"))


def current_stage() -> str:
    return _read_note(_stage).decode("utf-8", "replace")


def doing() -> str:
    """The end of a message: ` while <what is going on>`, or nothing."""
    return f" while {current_stage()}" if current_stage() else ""


def tell_long_stages() -> None:
    """From now on this process's parent reports stages that take long, also where they do not let Python run."""
    _leave_note(_watched, b"yes")


class Patience:
    """Decides when a stage that does not end is worth a line."""

    def __init__(self) -> None:
        self._stage = ""
        self._since, self._due = 0.0, _LONG_S

    def line(self, stage: str, now: float) -> str:
        """What to tell at a time, by any clock; nothing where all goes well."""
        if stage != self._stage:
            self._stage, self._since, self._due = stage, now, _LONG_S
        seconds = now - self._since
        if not stage or seconds < self._due:
            return ""
        self._due = 2 * seconds
        return f"still {stage}, for {seconds:.0f} seconds"


@contextlib.contextmanager
def kept_on_death(path: str, data: bytes, what: str) -> Iterator[str | None]:
    """A hidden file with these bytes, which the parent renames to `path` should the process die inside.

    None where no file could take that place. `what` it is goes into the RelaxError where it cannot be written.
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
    """Ends the guarded process if what runs inside takes longer, in C++ too; does nothing without a guard."""
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
    """Opens the standard streams that the process was started without (`>&-`), so that no other file gets their number.

    They fail when they are used, except stderr, which is never read.
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
    """The exit code of `work`, run in a child process: 0, or 1 for any failure. `blamed` is what may crash there."""
    global _stage, _legacy, _watched, _ended
    open_missing_streams()
    if not hasattr(os, "fork"):
        return 1 if work() else 0
    _stage, _legacy, _watched, _ended = (mmap.mmap(-1, _NOTE_BYTES) for _ in range(4))
    sys.stdout.flush()
    # Held back until both processes are ready to answer them.
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
        _report_death(name, f"what it called ended the process by exit({os.WEXITSTATUS(status)})", bool(came))
        return 1
    if os.WEXITSTATUS(status) == _INTERRUPTED:
        sys.stderr.write(f"{name}: error: interrupted\n")
        return _SIGNALLED + (came[0] if came else signal.SIGINT)
    return 1 if os.WEXITSTATUS(status) else 0


def _run_child(name: str, work: Callable[[], int], held_back: set[signal.Signals]) -> None:
    def interrupt(signal_number: int, frame: object) -> None:
        # Once is enough: a second one would hit the cleaning up. (Python complains where SIG_IGN meets what has come.)
        for number in held_back:
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    def again(lost: sys.UnraisableHookArgs) -> None:
        # It came while a destructor or a weak reference's callback ran, which let nothing out, nor does this function.
        # So it comes once more, a little later; by a thread, as the process's timer is that of `limited`.
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        import threading  # not at every start

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
        code = _INTERRUPTED  # the parent says so: it knows of those too that the child does not live to tell
    finally:
        _leave_note(_ended, b"yes")
        # Not sys.exit: the parent's exit handlers are not the child's to run.
        os._exit(code if code == _INTERRUPTED else 1 if code else 0)


def _pass_on_signals(child: int, name: str) -> list[int]:
    """Whoever ends this process means the child. Returns a list that gets the signals that came."""
    came: list[int] = []
    patience = Patience()

    def pass_on(number: int, frame: object) -> None:
        # From a terminal Ctrl-C comes to both, but not everything that interrupts is a terminal.
        came.append(number)
        _kill(child, signal.SIGTERM if len(came) == 1 else signal.SIGKILL)
        signal.setitimer(signal.ITIMER_REAL, _GRACE_S)

    def tick(number: int, frame: object) -> None:
        if came:
            _kill(child, signal.SIGKILL)
        elif _read_note(_watched):
            line = patience.line(current_stage(), time.monotonic())
            if line:
                sys.stderr.write(f"{name}: note: {line}\n")
                sys.stderr.flush()

    signal.signal(signal.SIGALRM, tick)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
    signal.signal(signal.SIGINT, pass_on)
    signal.signal(signal.SIGTERM, pass_on)
    return came


def _kill(child: int, number: int) -> None:
    # It may have ended by itself just now.
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
