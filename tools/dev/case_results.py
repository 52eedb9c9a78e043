# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of other projects' suites: run in processes that may die, and compared with lists of failing cases."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[2] / "test" / "python" / "helpers"))

from worker_process import Ended, WorkerProcess, in_threads  # found by the line above

_LONGEST_REASON = 160
_REPORTED_EVERY = 250


#: Creates, in a worker, the function that answers a question with a status and a reason.
Answering = Callable[[], Callable[[Any], tuple[str, str]]]


class CaseResult(NamedTuple):
    """`status` is passed, failed or crashed."""

    name: str
    status: str
    reason: str
    seconds: float


def reason_of(error: Exception) -> str:
    """Return one line on the problem: for an import, the first operator that cannot be imported."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    kind = type(error).__name__
    text = lines[0] if kind in ("RelaxError", "AssertionError") else f"{kind}: {lines[0]}"
    if lines[0].endswith("cannot be imported:") and len(lines) > 2:
        cells = lines[2].split("  ")
        text = f"{cells[0]}: {cells[-1].strip()}"
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def run_all(
    questions: Mapping[str, Any], make: Answering, jobs: int, limit: float, reported_every: int = _REPORTED_EVERY
) -> list[CaseResult]:
    """Ask workers the question of each case, and return the results in the order of the cases."""
    results: dict[str, CaseResult] = {}

    def serve(names: Iterator[str]) -> None:
        worker = WorkerProcess(make, limit)
        for name in names:
            results[name] = result_of(name, questions[name], worker)
            if len(results) % reported_every == 0:
                done = results[name]
                print(f"{len(results)} of {len(questions)}: {name} {done.status} {done.reason}", file=sys.stderr)
        worker.stop()

    in_threads(questions, jobs, serve)
    return [results[name] for name in questions]


def result_of(name: str, question: Any, worker: WorkerProcess) -> CaseResult:
    """Ask a worker the question of one case; a worker that dies or hangs has crashed."""
    start = time.monotonic()
    try:
        status, reason = worker.ask(question)
    except Ended as end:
        status, reason = "crashed", str(end)
    return CaseResult(name, status, reason, time.monotonic() - start)


def differences(results: list[CaseResult], listed: dict[str, str]) -> list[str]:
    """Return the differences between a run and the list."""
    passed = {each.name for each in results if each.status == "passed"}
    wrong = [f"{each.name} {each.status}: {each.reason}" for each in results if each.name not in passed | set(listed)]
    return wrong + [f"{name} passes: take it off the list" for name in listed if name in passed]
