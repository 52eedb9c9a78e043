# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzzer of the tools: mutates valid inputs and checks the promise of exit code 0 or 1, one error, no half-written
file.

    run.py --seconds 60               new cases for a minute, of relax-opt
    run.py --seconds 60 --onnx        ONNX models, for relax-compile and relax-run
    run.py --seed 7 --case 1234       one case again
    run.py --replay FOLDER            saved cases again

Failures are saved for a replay. A crash inside of MLIR that became an error is counted, and is no failure. With models
it is a failure, since models are also imported in process.
"""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import json
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import onnx_suite
import opt_suite
from case import INPUT, Case, Outcome
from relax_mlir_proof.testing import cluster

REPOSITORY = Path(__file__).resolve().parents[2]
SAVED = REPOSITORY / "build" / "fuzz"
_BATCH = 256
_PART = 32
_PATH = "test/fuzz/run.py"
#: Seconds of a part. The cases have limits of their own.
_PART_PATIENCE_S = 3600.0
_SHOWN_FAILURES = 10


class Suite(NamedTuple):
    """Fuzzed tool as functions that can be passed to processes."""

    make_case: Callable[[Random], Case]
    preload: Callable[[], None]
    run: Callable[[Sequence[Case]], list[Outcome]]
    run_alone: Callable[[Case], Outcome]
    text_of: Callable[[Case], str]


_OPT, _ONNX = (Suite(*(getattr(module, name) for name in Suite._fields)) for module in (opt_suite, onnx_suite))
_SUITES = {"opt": _OPT, "onnx": _ONNX}


def make_case(suite: Suite, seed: int, index: int) -> Case:
    """Return the case of a seed and an index, which is the same as long as the corpus is."""
    return suite.make_case(Random(f"{seed}:{index}"))


def _run_indices(suite: Suite, seed: int, indices: range) -> list[tuple[int, Outcome]]:
    return list(zip(indices, suite.run([make_case(suite, seed, index) for index in indices]), strict=True))


def _preload(name: str) -> None:
    _SUITES[name].preload()


def _run_part(name: str, seed: int, indices: range) -> list[tuple[int, Outcome]]:
    return _run_indices(_SUITES[name], seed, indices)


def _outcomes(
    suite: Suite, seed: int, end: float | None, cases: int | None, jobs: int, scheduler: str | None
) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcomes of cases by their indices, from processes of this machine or from workers."""
    if scheduler is not None:
        name = next(name for name, each in _SUITES.items() if each == suite)
        queue = ((name, seed, part) for batch in _batches(cases, end) for part in _parts(batch))
        for (_, _, part), found in cluster.run(
            *(
                cluster.Script(_PATH, "_run_part"),
                queue,
                1,
                end,
                _PART_PATIENCE_S,
                lambda cause, _: Outcome(cause, "", -1, ""),
            ),
            scheduler=scheduler,
            prepare=cluster.Script(_PATH, "_preload"),
            told=lambda sentence: print(sentence, file=sys.stderr),
        ):
            # Each case has a process below that of its part. If that of the part dies, no case has an outcome.
            yield from ((index, found) for index in part) if isinstance(found, Outcome) else found
        return
    suite.preload()
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for batch in _batches(cases, end):
            run_part = functools.partial(_run_indices, suite, seed)
            yield from itertools.chain(*pool.map(run_part, list(_parts(batch)), chunksize=1))


def _died(cause: str, phase: int) -> Outcome:
    return Outcome(cause, "", -1, "")


def _parts(batch: range) -> Iterator[range]:
    return (range(start, min(start + _PART, batch.stop)) for start in range(batch.start, batch.stop, _PART))


def fuzz(
    suite: Suite, seed: int, seconds: float | None, cases: int | None, jobs: int, scheduler: str | None = None
) -> int:
    """Run until the time or the number of cases is exhausted. Return the number of failures."""
    end = None if seconds is None else time.monotonic() + seconds
    failures: list[tuple[int, Outcome]] = []
    crashes: dict[tuple[str, str], list[int]] = {}
    codes: collections.Counter[int] = collections.Counter()
    for index, outcome in _outcomes(suite, seed, end, cases, jobs, scheduler):
        codes[outcome.code] += 1
        if outcome.crash:
            crash = re.sub(r" while .*", "", outcome.crash)
            crashes.setdefault((crash, make_case(suite, seed, index).kind), []).append(index)
        if outcome.problem:
            failures.append((index, outcome))
    total = sum(codes.values())
    print(f"seed {seed}: {total} cases, {codes[0]} accepted, {codes[1]} refused, {len(failures)} failures")
    for (crash, kind), indices in sorted(crashes.items()):
        folder = save(make_case(suite, seed, indices[0]), f"{seed}-{indices[0]}-crash")
        print(f"  {len(indices)} x {kind}: {crash} (the first saved as {folder})")
    _report(suite, seed, failures)
    return len(failures)


def _batches(cases: int | None, end: float | None) -> Iterator[range]:
    first = 0
    while (cases is None or first < cases) and (end is None or time.monotonic() < end):
        last = first + _BATCH if cases is None else min(first + _BATCH, cases)
        yield range(first, last)
        first = last


def _report(suite: Suite, seed: int, failures: Sequence[tuple[int, Outcome]]) -> None:
    groups: dict[str, list[tuple[int, Outcome]]] = {}
    for index, outcome in failures:
        groups.setdefault(_group(outcome.problem), []).append((index, outcome))
    for group in list(groups.values())[:_SHOWN_FAILURES]:
        index, outcome = group[0]
        case = make_case(suite, seed, index)
        folder = save(case, f"{seed}-{index}")
        print(f"FAILED ({len(group)} alike): {outcome.problem}")
        print(f"  {case.kind}: {' '.join(case.arguments)!r}")
        which = " --onnx" if suite == _ONNX else ""
        print(f"  saved as {folder}; again: {Path(__file__).name}{which} --seed {seed} --case {index}")
    if len(groups) > _SHOWN_FAILURES:
        print(f"and {len(groups) - _SHOWN_FAILURES} more kinds of failures")


def _group(problem: str) -> str:
    """Return a key that is equal for failures that differ only in names and numbers."""
    return re.sub(r"'[^']*'|\d+", "", problem)[:100]


def save(case: Case, name: str) -> Path:
    folder = SAVED / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / case.file).write_bytes(case.data)
    (folder / "arguments.json").write_text(json.dumps([case.kind, *case.arguments]))
    return folder


def load(folder: Path) -> Case:
    kind, *arguments = json.loads((folder / "arguments.json").read_text())
    file = INPUT if (folder / INPUT).exists() else onnx_suite.MODEL
    return Case(kind, (folder / file).read_bytes(), tuple(arguments), file)


def show(case: Case) -> int:
    """Run one case, and print all about it."""
    suite = _ONNX if case.file == onnx_suite.MODEL else _OPT
    outcome = suite.run_alone(case)
    print(" ".join(case.arguments))
    print(suite.text_of(case))
    print(f"exit code {outcome.code}; {outcome.problem or 'as promised'}\n{outcome.errors}")
    return bool(outcome.problem)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--onnx", action="store_true", help="ONNX models in place of relax-opt's inputs")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--cases", type=int, help="stop after this many cases")
    parser.add_argument("--seed", type=int, help="the same seed gives the same cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, whose workers run the cases")
    parser.add_argument("--case", type=int, help="run this case of the seed and show it")
    parser.add_argument("--replay", type=Path, help="run the saved case in this folder, or in each folder inside")
    options = parser.parse_args(argv)
    suite = _ONNX if options.onnx else _OPT
    if options.replay:
        folders = sorted(path.parent for path in options.replay.rglob("arguments.json"))
        return max((show(load(folder)) for folder in folders), default=0)
    seed = Random().randrange(10**6) if options.seed is None else options.seed
    if options.case is not None:
        suite.preload()
        return show(make_case(suite, seed, options.case))
    if options.seconds is None and options.cases is None:
        parser.error("how long? --seconds or --cases")
    return 1 if fuzz(suite, seed, options.seconds, options.cases, options.jobs, options.scheduler) else 0


if __name__ == "__main__":
    sys.exit(main())
