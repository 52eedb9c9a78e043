# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs ONNX's own test suites, each case in a process that may die, and compares what fails with not_passing.txt."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[2] / "test" / "python"
sys.path += [str(TESTS), str(TESTS / "frontends" / "onnx")]

import known_failures  # noqa: E402  # found by the line above, as the next
import model_suites  # noqa: E402
from worker_process import Ended, WorkerProcess, in_threads  # noqa: E402

_LONGEST_REASON = 160
_REPORTED_EVERY = 250


class CaseResult(NamedTuple):
    """`status` is passed, failed or crashed."""

    name: str
    status: str
    reason: str
    seconds: float


def _answering(kinds: list[str], is_reference: bool) -> Callable[[int], tuple[str, str]]:
    """In a process of its own: runs the case that has a place in the list."""
    cases = _cases(kinds)
    return lambda index: _outcome(cases[index], is_reference)


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


def run_all(
    names: list[str], chosen: list[int], kinds: list[str], jobs: int, limit: float, is_reference: bool = False
) -> list[CaseResult]:
    """The results of the chosen cases, in their order."""
    results: dict[int, CaseResult] = {}

    def serve(places: Iterator[int]) -> None:
        worker = WorkerProcess(functools.partial(_answering, kinds, is_reference), limit)
        for index in places:
            start = time.monotonic()
            try:
                status, reason = worker.ask(index)
            except Ended as end:
                status, reason = "crashed", str(end)
            results[index] = CaseResult(names[index], status, reason, time.monotonic() - start)
            if len(results) % _REPORTED_EVERY == 0:
                print(f"{len(results)} of {len(chosen)}", file=sys.stderr)
        worker.stop()

    in_threads(chosen, jobs, serve)
    return [results[index] for index in chosen]


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
