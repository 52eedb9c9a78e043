# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A command with limits: of processor time, and of waiting, where neither it nor what it started does anything."""

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
#: What uses less than this in all the time is waiting: something may look around now and then.
_NOTHING_S = 0.05


def run(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], cpu_s: float, idle_s: float
) -> tuple[int | None, str]:
    """The exit code, None where it was ended since all of it waited for so long, and what it wrote.

    A process that waits for another one, which waits for it, uses no processor time: no limit of that ends it.
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
        # It is less than before where one has ended; it is unknown where there is no /proc.
        if process.pid not in everything or abs(now - used) > _NOTHING_S:
            used, waited = now, 0.0
            continue
        waited += _LOOK_S
        if waited >= idle_s:
            _end(list(everything))
            process.wait()
            return None


def _family(root: int) -> dict[int, float]:
    """A process and all that it started, by number: the processor time that each has used, in seconds."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the name, which may hold anything.
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        used[number] = sum(map(int, fields[11:15])) / _TICKS_S
    found = {root}
    while grown := {number for number, parent in parents.items() if parent in found} - found:
        found |= grown
    return {number: used[number] for number in found if number in used}


def _end(numbers: Sequence[int]) -> None:
    """All are stopped before the first is killed: none does anything because another one has ended."""
    for how in (signal.SIGSTOP, signal.SIGKILL):
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, how)
