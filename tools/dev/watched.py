# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runner of a command with limits on processor time, and on waiting, in which the command and its children are idle."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_TICKS_S = os.sysconf("SC_CLK_TCK")
_LOOK_S = 1.0
#: Less use than this in all the time counts as waiting: something may poll now and then.
_NOTHING_S = 0.05


def run(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], cpu_s: float, idle_s: float
) -> tuple[int | None, str]:
    """Return the exit code, or None if the command was ended after waiting for so long, and its output.

    Processes that wait for each other use no processor time, so that a limit on it does not end them.
    """
    limit = int(cpu_s)
    with tempfile.TemporaryFile() as written:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)),
        )
        code = _wait(process, idle_s)
        written.seek(0)
        return code, written.read().decode(errors="replace")


def _wait(process: subprocess.Popen[bytes], idle_s: float) -> int | None:
    used, waited = 0.0, 0.0
    while True:
        try:
            return process.wait(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            pass
        everything = _family(process.pid)
        now = sum(everything.values())
        # The sum decreases if a process has ended; it is unknown without /proc.
        if process.pid not in everything or abs(now - used) > _NOTHING_S:
            used, waited = now, 0.0
            continue
        waited += _LOOK_S
        if waited >= idle_s:
            _end(list(everything))
            process.wait()
            return None


def _family(root: int) -> dict[int, float]:
    """Return the processor time in seconds of a process and all of its descendants, by process number."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name, which may contain anything.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        used[number] = sum(map(int, fields[11:15])) / _TICKS_S
    found = {root}
    while grown := {number for number, parent in parents.items() if parent in found} - found:
        found |= grown
    return {number: used[number] for number in found if number in used}


def _end(numbers: Sequence[int]) -> None:
    """End the processes. All are stopped before the first is killed, so that none reacts to the end of another one."""
    for how in (signal.SIGSTOP, signal.SIGKILL):
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, how)
