# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run jax's own table of functions, each in a process that may die, and compare with the refused ones."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for _folder in (ROOT / "test" / "with_jax", ROOT / "test" / "python" / "helpers"):
    sys.path.append(str(_folder))

import harness_refusals  # noqa: E402  # found by the lines above, as the next
from worker_process import Ended, WorkerProcess, in_threads  # noqa: E402

WAYS = ("jit", "platform")
_REPORTED_EVERY = 30.0


def _answering() -> Callable[[tuple[str, ...]], Any]:
    """Return a worker's function that answers a name and a way with a verdict, and nothing with all names."""
    os.environ["JAX_PLATFORMS"] = "relax,cpu"
    import harness_checks

    names = [*harness_checks.harnesses()]
    return lambda asked: tuple(harness_checks.check(*asked)) if asked else names


def all_names(seconds: float) -> list[str]:
    worker = WorkerProcess(_answering, seconds)
    found: list[str] = worker.ask(())
    worker.stop()
    return found


def run_all(names: list[str], ways: list[str], jobs: int, seconds: float) -> dict[tuple[str, str], tuple[str, str]]:
    outcomes: dict[tuple[str, str], tuple[str, str]] = {}
    start = last = time.monotonic()

    def serve(taken: Iterator[str]) -> None:
        nonlocal last
        worker = WorkerProcess(_answering, seconds)
        for name in taken:
            for way in ways:
                try:
                    outcomes[name, way] = worker.ask((name, way))
                except Ended as end:
                    outcomes[name, way] = ("error", str(end))
            if time.monotonic() - last > _REPORTED_EVERY:
                last = time.monotonic()
                done = len(outcomes) // len(ways)
                print(f"{done} of {len(names)}, {last - start:.0f} seconds", file=sys.stderr, flush=True)
        worker.stop()

    in_threads(names, jobs, serve)
    return outcomes


def show(outcomes: harness_refusals.Outcomes) -> None:
    """Print counts by way, then reasons."""
    for way in WAYS:
        counts = Counter(verdict for (_, each), (verdict, _) in outcomes.items() if each == way)
        ran = sum(counts.values()) - counts["left out"]
        if ran:
            shown = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
            print(f"{way}: {shown}; {100 * counts['passes'] / ran:.1f} % of what jax runs agree")
    reasons = Counter((way, *found) for (_, way), found in outcomes.items() if found[0] != "passes")
    for (way, verdict, reason), count in reasons.most_common():
        print(f"{count:6} {way} {verdict}: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="jax_harnesses.py", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="names, or patterns: 'svd*'")
    parser.add_argument("--way", nargs="+", choices=WAYS, default=list(WAYS), help="rx.jit, or the platform relax")
    parser.add_argument("--share", type=float, default=1.0, help="of all names, drawn")
    parser.add_argument("--draw", type=int, default=0, help="another share")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds for a function")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "jax-harnesses.json")
    parser.add_argument("--write", action="store_true", help="write the lists of what is refused")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = folder
        names = [
            name
            for name in all_names(options.limit)
            if not options.only or any(fnmatch.fnmatchcase(name, each) for each in options.only)
        ]
        if not names:
            parser.error("no such function: names are those of jax's test_harnesses, as 'svd_*'")
        drawn = random.Random(options.draw).sample(names, max(1, round(options.share * len(names))))
        outcomes = run_all(drawn, options.way, options.jobs, options.limit)
    show(outcomes)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"name": name, "way": way, "verdict": found[0], "reason": found[1]} for (name, way), found in outcomes.items()
    ]
    options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(f"{len(drawn)} functions, {time.monotonic() - start:.0f} seconds; all verdicts: {options.json}")
    listed = {way: harness_refusals.read(way) for way in WAYS}
    if options.write:
        for way in options.way:
            harness_refusals.write(way, harness_refusals.merged(way, outcomes, listed[way]))
        listed = {way: harness_refusals.read(way) for way in WAYS}
    wrong = harness_refusals.differences(outcomes, listed)
    for line in wrong:
        print(f"error: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
