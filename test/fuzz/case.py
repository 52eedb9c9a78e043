# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzz case: a command line with its input, run as in a user's shell, and the observed problem."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from relax_mlir.tools.common.guard import run_guarded
from relax_mlir.tools.relax_opt import run

INPUT = "input"  # the name of the input file in a case's folder
OUTPUT = "output"  # and of the output file that command lines may name
_GRACE_S = 60  # for a busy machine; Python is stopped first, and a process that does not stop is stuck in C++
_LOOK_S = 1.0
_LONGEST_WAIT = 10  # of its time, for a process that does not work
_SHOWN = 400

_ERROR = re.compile(r"^(?:[^\n]*: )?error: [^\n]*", re.MULTILINE)
#: With --verify-diagnostics each diagnostic is an error, also diagnostics without a location.
_PLACED = re.compile(r".*:\d+:\d+: error: |<unknown>:0: error: unexpected ", re.DOTALL)
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_CRASH = re.compile(r"^[\w-]+: error: (?:MLIR crashed|was killed)[^\n]*", re.MULTILINE)


class Case(NamedTuple):
    """Case with the input's content and the arguments. `kind` names its origin, `file` the input."""

    kind: str
    data: bytes
    arguments: tuple[str, ...]
    file: str = INPUT


class Outcome(NamedTuple):
    """Outcome of a case: `problem` is empty if the promise holds.

    `crash` is one inside of MLIR, caught and reported as an error.
    """

    problem: str
    crash: str
    code: int
    errors: str


class Tool(NamedTuple):
    """Tool with a function that runs cases in process, a check of exit code, messages and files, and limits."""

    name: str
    run: Callable[[Sequence[str]], int]
    problem: Callable[[Case, int, str, list[str]], str]
    patience_s: float  # of processor time
    memory_bytes: int


def run_guarded_case(case: Case, tool: Tool) -> Outcome:
    """Run the case like the command: in a process of its own, under its guard."""
    guarded = tool._replace(run=lambda arguments: run_guarded(tool.name, lambda: tool.run(arguments)))
    return next(_outcomes([case], guarded))


def run_cases(cases: Sequence[Case], tool: Tool) -> list[Outcome]:
    """Run cases in sequence in one process without a guard, which is faster. A crash ends only one case."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(cases):
        outcomes += _outcomes(cases[len(outcomes) :], tool)
    return outcomes


def _outcomes(cases: Sequence[Case], tool: Tool) -> Iterator[Outcome]:
    """Yield outcomes from a new process, up to the first case that crashes."""
    results, results_in_child = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(results)
        _serve(cases, tool, results_in_child)
    os.close(results_in_child)
    folder = Path(tempfile.gettempdir()) / f"relax-fuzz-{child}"
    try:
        with os.fdopen(results, "rb") as stream:
            for _ in cases:
                in_time = _answers(stream, child, tool.patience_s + _GRACE_S)
                line = stream.readline() if in_time else b""
                if not line:
                    yield _death(tool, child, in_time)
                    return
                yield Outcome(*json.loads(line))
        os.waitpid(child, 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers(stream: IO[str], child: int, patience_s: float) -> bool:
    """Check whether a process answers before it has worked for this time, or waited for a multiple of it."""
    begun, worked = time.monotonic(), _worked_s(child)
    while not select.select([stream], [], [], _LOOK_S)[0]:
        if _worked_s(child) - worked > patience_s or time.monotonic() - begun > _LONGEST_WAIT * patience_s:
            return False
    return True


def _worked_s(process: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _death(tool: Tool, child: int, in_time: bool) -> Outcome:
    if not in_time:
        os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not in_time:
        # In Python the alarm would have come first.
        return Outcome("", f"{tool.name}: error: MLIR did not end in {tool.patience_s + _GRACE_S:.0f} s", 1, "")
    if code >= 0:
        return Outcome(f"the process ended with exit code {code}", "", code, "")
    # The guard would have reported it as an error.
    return Outcome("", f"{tool.name}: error: MLIR crashed ({signal.Signals(-code).name})", 1, "")


def _serve(cases: Sequence[Case], tool: Tool, results: int) -> None:
    """Run cases in the child until it ends."""
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (tool.memory_bytes, tool.memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        folder = Path(tempfile.gettempdir()) / f"relax-fuzz-{os.getpid()}"
        with os.fdopen(results, "wb", buffering=0) as stream:
            for case in cases:
                folder.mkdir()
                os.chdir(folder)
                outcome = _run_here(case, tool)
                stream.write(json.dumps(outcome).encode() + b"\n")
                os.chdir("/")
                shutil.rmtree(folder)
    finally:
        os._exit(70)


def _run_here(case: Case, tool: Tool) -> Outcome:
    Path(case.file).write_bytes(case.data)
    writing = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, name, flags in ((0, case.file, os.O_RDONLY), (1, "stdout", writing), (2, "stderr", writing)):
        descriptor = os.open(name, flags, 0o666)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (_stream(0, "r"), _stream(1, "w"), _stream(2, "w"))
    signal.signal(signal.SIGPROF, _complain)
    signal.setitimer(signal.ITIMER_PROF, tool.patience_s)
    try:
        code = tool.run(case.arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.flush()
    sys.stderr.flush()
    errors = _COLOR.sub("", Path("stderr").read_bytes().decode("utf-8", "replace"))
    left = sorted(path.name for path in Path().iterdir() if path.name not in (case.file, "stdout", "stderr"))
    crash = _CRASH.search(errors)
    return Outcome(tool.problem(case, code, errors, left), crash.group() if crash else "", code, errors)


def _stream(descriptor: int, mode: str) -> Any:
    return open(descriptor, mode, errors="backslashreplace", closefd=False)


def _complain(number: int, frame: Any) -> None:
    raise TimeoutError("no result in time")


def _problem(case: Case, code: int, errors: str, left: list[str]) -> str:
    """Return the broken promise of the tool, or an empty text."""
    if code not in (0, 1):
        return f"exit code {code}"
    if (
        "Traceback (most recent call last)" in errors or "Exception ignored" in errors
    ) and "--traceback" not in case.arguments:
        return "a traceback"
    internal = re.search(r"internal error[^\n]*", errors)
    if internal:
        return internal.group()[:_SHOWN]
    reported = _ERROR.findall(errors)
    if code == 0 and reported:
        return "an error, but exit code 0"
    if code == 1 and not reported:
        return "exit code 1 without an error"
    # Several operations may be wrong, and the parser sometimes reports a thing twice, but each time it is at a place.
    if len(reported) > 1 and not all(_PLACED.match(error) for error in reported):
        return f"{len(reported)} errors instead of one"
    return _left_behind(case, code, left)


def _left_behind(case: Case, code: int, left: list[str]) -> str:
    # A mutated command line may name any file.
    own = [name for name in left if name.startswith(".relax-") or case.kind != "command"]
    unexpected = [name for name in own if name != OUTPUT or code == 1]
    return f"left behind: {', '.join(unexpected)}" if unexpected else ""


RELAX_OPT = Tool("relax-opt", lambda arguments: run(arguments), _problem, 10, 4 << 30)
