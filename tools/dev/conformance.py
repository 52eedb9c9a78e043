# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run ONNX's own test suites, each case in a process that may die, and compare failures with not_passing.txt."""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2] / "test" / "python"
sys.path += [str(TESTS / "helpers"), str(TESTS / "frontends" / "onnx")]

import known_failures  # noqa: E402  # found by the line above, as the next
import model_suites  # noqa: E402
from case_results import CaseResult, differences, reason_of, run_all  # noqa: E402
from relax_mlir_proof.testing import cluster  # noqa: E402

_PATH = "tools/dev/conformance.py"


def _answering(kinds: list[str], is_reference: bool) -> Callable[[int], tuple[str, str]]:
    """Return a function that runs a case by its index in the list, in its own process."""
    cases = _cases(tuple(kinds))
    return lambda index: _outcome(cases[index], is_reference)


def _preload(kinds: tuple[str, ...]) -> None:
    """Load the list of cases, so that the processes of cases do not have to."""
    import node_suite  # noqa: F401

    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["RELAX_MLIR_CACHE"] = folder  # as below
    _cases(kinds)


def _run_case(kinds: tuple[str, ...], index: int, is_reference: bool) -> tuple[str, str, float]:
    """Run a case by its index in the list, in the process of a worker."""
    start = time.monotonic()
    return (*_outcome(_cases(kinds)[index], is_reference), time.monotonic() - start)


def _by_workers(
    chosen: dict[str, int], kinds: tuple[str, ...], is_reference: bool, limit: float, scheduler: str
) -> list[CaseResult]:
    """Return the results of the workers of a Dask scheduler, in the order of the cases."""
    names = {index: name for name, index in chosen.items()}
    queue = ((kinds, index, is_reference) for index in chosen.values())
    results: dict[str, CaseResult] = {}
    for (_, index, _), outcome in cluster.run(
        *(cluster.Script(_PATH, "_run_case"), queue, 1, None, limit, lambda cause, _: ("crashed", cause, limit)),
        scheduler=scheduler,
        prepare=cluster.Script(_PATH, "_preload"),
        told=lambda sentence: print(sentence, file=sys.stderr),
    ):
        results[names[index]] = CaseResult(names[index], *outcome)
    return [results[name] for name in chosen]


def _outcome(case: object, is_reference: bool) -> tuple[str, str]:
    import node_suite

    try:
        node_suite.check(case, node_suite.interpreted if is_reference else node_suite.run)
    except Exception as error:
        return "failed", reason_of(error)
    return "passed", ""


@functools.cache
def _cases(kinds: tuple[str, ...]) -> list[Any]:
    return [case for kind in kinds for case in model_suites.cases_of(kind)]


def show(results: list[CaseResult]) -> None:
    """Print counts by kind, then the reasons, the most frequent first."""
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance.py", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, whose workers run the cases")
    parser.add_argument("--limit", type=float, default=180, help="seconds for a case")
    parser.add_argument("--kinds", nargs="+", choices=model_suites.KINDS, default=list(model_suites.KINDS))
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--reference", action="store_true", help="what rx.reference says, instead of compiled programs")
    parser.add_argument("--listed", action="store_true", help="only cases of the list: does one pass by now?")
    parser.add_argument("--write", action="store_true", help="write the list; reasons that it has already stay")
    options = parser.parse_args()
    start = time.monotonic()
    names = [case.name for case in _cases(tuple(options.kinds))]
    listed = known_failures.read()
    wanted = [name for name in names if options.only in name and (name in listed or not options.listed)]
    chosen = {name: names.index(name) for name in wanted}
    answering = functools.partial(_answering, options.kinds, options.reference)
    with tempfile.TemporaryDirectory() as folder:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = folder
        if options.scheduler is None:
            results = run_all(chosen, answering, options.jobs, options.limit)
        else:
            kinds = tuple(options.kinds)
            results = _by_workers(chosen, kinds, options.reference, options.limit, options.scheduler)
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
