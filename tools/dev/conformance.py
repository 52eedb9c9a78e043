# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX's own test suites, each case in a process that may die, and compares what fails with not_passing.txt."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

SUITES = Path(__file__).resolve().parents[2] / "test" / "python" / "frontends" / "onnx"
sys.path.append(str(SUITES))

import known_failures  # noqa: E402  # found by the line above, as the next
import model_suites  # noqa: E402

_MOST_MEMORY = 12 << 30
_LONGEST_REASON = 160
_REPORTED_EVERY = 250


class CaseResult(NamedTuple):
    """`status` is passed, failed or crashed."""

    name: str
    status: str
    reason: str
    seconds: float


# ---- in a worker ----


def _work(kinds: list[str], is_reference: bool, pipe: Connection) -> None:
    """Runs the cases whose places in the list come through the pipe."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cases = _cases(kinds)
    pipe.send(None)  # ready: from now on the time of a case is its own
    while (index := pipe.recv()) is not None:
        pipe.send(_outcome(cases[index], is_reference))


def _outcome(case: object, is_reference: bool) -> tuple[str, str]:
    import node_suite

    try:
        node_suite.check(case, node_suite.interpreted if is_reference else node_suite.run)
    except Exception as error:
        return "failed", reason_of(error)
    return "passed", ""


def reason_of(error: Exception) -> str:
    """One line that says what is wrong: for an import, the first operator that cannot be imported."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    kind = type(error).__name__
    text = lines[0] if kind in ("RelaxError", "AssertionError") else f"{kind}: {lines[0]}"
    if lines[0].endswith("cannot be imported:") and len(lines) > 2:
        cells = lines[2].split("  ")
        text = f"{cells[0]}: {cells[-1].strip()}"
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def _cases(kinds: list[str]) -> list[Any]:
    return [case for kind in kinds for case in model_suites.cases_of(kind)]


# ---- in the process that the user started ----


class Worker:
    """A process that runs cases, and another one after a crash."""

    def __init__(self, kinds: list[str], is_reference: bool, limit: float):
        self._kinds = kinds
        self._is_reference = is_reference
        self._limit = limit
        self._process: Any = None
        self._pipe: Connection

    def run(self, index: int) -> tuple[str, str]:
        if self._process is None:
            self._start()
        self._pipe.send(index)
        if not self._pipe.poll(self._limit):
            self.stop()
            return "crashed", f"took longer than {self._limit:.0f} seconds"
        try:
            outcome: tuple[str, str] = self._pipe.recv()
        except (EOFError, ConnectionError):
            return "crashed", self._how_it_ended()
        return outcome

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would inherit other threads' locks
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(self._kinds, self._is_reference, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()

    def _how_it_ended(self) -> str:
        self._process.join()
        code = self._process.exitcode
        self._process = None
        return f"the process ended by {signal.Signals(-code).name}" if code < 0 else f"the process exited with {code}"


def run_all(
    names: list[str], chosen: list[int], kinds: list[str], jobs: int, limit: float, is_reference: bool = False
) -> list[CaseResult]:
    """The results of the chosen cases, in their order."""
    results: dict[int, CaseResult] = {}
    waiting, lock = iter(chosen), threading.Lock()

    def serve() -> None:
        worker = Worker(kinds, is_reference, limit)
        for index in _shared(waiting, lock):
            start = time.monotonic()
            status, reason = worker.run(index)
            results[index] = CaseResult(names[index], status, reason, time.monotonic() - start)
            if len(results) % _REPORTED_EVERY == 0:
                print(f"{len(results)} of {len(chosen)}", file=sys.stderr)
        worker.stop()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[index] for index in chosen]


def _shared(waiting: Iterator[int], lock: threading.Lock) -> Iterator[int]:
    while True:
        with lock:
            index = next(waiting, None)
        if index is None:
            return
        yield index


def show(results: list[CaseResult]) -> None:
    """Counts by kind, then the reasons, the most frequent first."""
    kinds = {kind: Counter[str]() for kind in model_suites.KINDS}
    for each in results:
        kinds[_kind(each.name)][each.status] += 1
    print(f"{'kind':<20}{'passed':>8}{'failed':>8}{'crashed':>8}{'all':>8}")
    for kind, counts in [*kinds.items(), ("together", sum(kinds.values(), Counter()))]:
        if counts:
            cells = [counts["passed"], counts["failed"], counts["crashed"], sum(counts.values())]
            print(f"{kind:<20}" + "".join(f"{cell:>8}" for cell in cells))
    groups: dict[str, list[str]] = {}
    for each in results:
        if each.status != "passed":
            groups.setdefault(f"{each.status}: {each.reason}", []).append(each.name)
    for reason, names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        print(f"{len(names):5} {reason} ({names[0]})")


def _kind(name: str) -> str:
    return name.partition("/")[0] if "/" in name else "node"


def differences(results: list[CaseResult], listed: dict[str, str]) -> list[str]:
    """Where a run and the list do not agree."""
    passed = {each.name for each in results if each.status == "passed"}
    wrong = [f"{each.name} {each.status}: {each.reason}" for each in results if each.name not in passed | set(listed)]
    return wrong + [f"{name} passes: take it off the list" for name in listed if name in passed]


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance.py", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=180, help="seconds for a case")
    parser.add_argument("--kinds", nargs="+", choices=model_suites.KINDS, default=list(model_suites.KINDS))
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--reference", action="store_true", help="what rx.reference says, instead of compiled programs")
    parser.add_argument("--listed", action="store_true", help="only cases of the list: does one pass by now?")
    parser.add_argument("--write", action="store_true", help="write the list; reasons that it has already stay")
    options = parser.parse_args()
    start = time.monotonic()
    names = [case.name for case in _cases(options.kinds)]
    listed = known_failures.read()
    wanted = [name for name in names if options.only in name and (name in listed or not options.listed)]
    chosen = [names.index(name) for name in wanted]
    with tempfile.TemporaryDirectory() as folder:
        # Nothing stale helps a case, and the user's own cache stays as it is.
        os.environ["RELAX_MLIR_CACHE"] = folder
        results = run_all(names, chosen, options.kinds, options.jobs, options.limit, options.reference)
    show(results)
    longest = max(results, key=lambda each: each.seconds, default=None)
    print(f"{time.monotonic() - start:.0f} seconds; the longest: {longest}")
    ran = {each.name for each in results}
    if options.write:
        found = {each.name: listed.get(each.name, each.reason) for each in results if each.status != "passed"}
        known_failures.write({name: reason for name, reason in listed.items() if name not in ran} | found)
        return 0
    wrong = differences(results, listed)
    for line in wrong:
        print(f"error: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
