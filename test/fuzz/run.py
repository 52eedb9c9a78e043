# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutates valid inputs of relax-opt and checks its promise: exit code 0 or 1, one error, no half-written file.

    run.py --seconds 60               new cases for a minute
    run.py --seed 7 --case 1234       one case again
    run.py --replay FOLDER            saved cases again

What fails is saved, ready to be replayed. A crash inside MLIR that became an error is no failure: it is counted.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))

import corpus
from case import INPUT, Case, Outcome, run_case, run_cases
from mutate_command import harmless_arguments, mutated_arguments
from mutate_ops import mutate_operation
from mutate_text import mutate_bytes, mutate_tokens

from relax_mlir import Module, RelaxError

REPOSITORY = Path(__file__).resolve().parents[2]
SAVED = REPOSITORY / "build" / "fuzz"
_BATCH = 256
_PART = 32
_SHOWN_FAILURES = 10


def make_case(seed: int, index: int) -> Case:
    """The same for the same seed and index, as long as the tests that it starts from stay."""
    random = Random(f"{seed}:{index}")
    kind = random.choices(list(_MAKERS), [weight for _, weight in _MAKERS.values()])[0]
    return _MAKERS[kind][0](random)


def _operation(random: Random) -> Case:
    op = random.choice(corpus.load().operations)
    text = mutate_operation(random, op, corpus.load().operations)
    return Case("operation", text.encode(), harmless_arguments(random))


def _tokens(random: Random) -> Case:
    texts = corpus.load().texts if random.random() < 0.5 else corpus.load().modules
    text = mutate_tokens(random, random.choice(texts), texts)
    return Case("tokens", text.encode(), harmless_arguments(random))


def _bytes(random: Random) -> Case:
    return Case("bytes", mutate_bytes(random, random.choice(corpus.load().texts).encode()), harmless_arguments(random))


def _bytecode(random: Random) -> Case:
    while True:
        with contextlib.suppress(RelaxError):  # some functions need their neighbours
            data = Module.parse(random.choice(corpus.load().modules)).bytecode()
            return Case("bytecode", mutate_bytes(random, data), harmless_arguments(random))


def _command(random: Random) -> Case:
    return Case("command", random.choice(corpus.load().modules).encode(), mutated_arguments(random))


_MAKERS = {
    "operation": (_operation, 8),
    "tokens": (_tokens, 5),
    "bytes": (_bytes, 2),
    "bytecode": (_bytecode, 3),
    "command": (_command, 3),
}


def _preload() -> None:
    """What cases need, once: they run in forks of this process."""
    from relax_mlir.tools.opt import driver

    driver.is_pass("")
    corpus.load()


def _run_indices(seed: int, indices: range) -> list[tuple[int, Outcome]]:
    cases = {index: make_case(seed, index) for index in indices}
    groups: dict[str, list[int]] = {"text": [], "bytecode": [], "command": []}
    for index, case in cases.items():
        groups[case.kind if case.kind in groups else "text"].append(index)
    found: list[tuple[int, Outcome]] = []
    # Malformed bytecode can corrupt MLIR's memory, which other cases would seem to die of.
    for kind in ("text", "bytecode"):
        found += zip(groups[kind], run_cases([cases[index] for index in groups[kind]]), strict=True)
    # What is said on the command line is the guard's business too.
    return found + [(index, run_case(cases[index])) for index in groups["command"]]


def fuzz(seed: int, seconds: float | None, cases: int | None, jobs: int) -> int:
    """Runs until the time or the number of cases is up; returns how many failed."""
    _preload()
    end = None if seconds is None else time.monotonic() + seconds
    failures: list[tuple[int, Outcome]] = []
    crashes: dict[tuple[str, str], list[int]] = {}
    codes: collections.Counter[int] = collections.Counter()
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for batch in _batches(cases, end):
            parts = [range(start, min(start + _PART, batch.stop)) for start in range(batch.start, batch.stop, _PART)]
            for index, outcome in itertools.chain(*pool.map(functools.partial(_run_indices, seed), parts, chunksize=1)):
                codes[outcome.code] += 1
                if outcome.crash:
                    crash = re.sub(r" while .*", "", outcome.crash)
                    crashes.setdefault((crash, make_case(seed, index).kind), []).append(index)
                if outcome.problem:
                    failures.append((index, outcome))
    total = sum(codes.values())
    print(f"seed {seed}: {total} cases, {codes[0]} accepted, {codes[1]} refused, {len(failures)} failures")
    for (crash, kind), indices in sorted(crashes.items()):
        folder = save(make_case(seed, indices[0]), f"{seed}-{indices[0]}-crash")
        print(f"  {len(indices)} x {kind}: {crash} (the first saved as {folder})")
    _report(seed, failures)
    return len(failures)


def _batches(cases: int | None, end: float | None) -> Iterator[range]:
    first = 0
    while (cases is None or first < cases) and (end is None or time.monotonic() < end):
        last = first + _BATCH if cases is None else min(first + _BATCH, cases)
        yield range(first, last)
        first = last


def _report(seed: int, failures: Sequence[tuple[int, Outcome]]) -> None:
    groups: dict[str, list[tuple[int, Outcome]]] = {}
    for index, outcome in failures:
        groups.setdefault(_group(outcome.problem), []).append((index, outcome))
    for group in list(groups.values())[:_SHOWN_FAILURES]:
        index, outcome = group[0]
        case = make_case(seed, index)
        folder = save(case, f"{seed}-{index}")
        print(f"FAILED ({len(group)} alike): {outcome.problem}")
        print(f"  {case.kind}: relax-opt {' '.join(case.arguments)!r}")
        print(f"  saved as {folder}; again: {Path(__file__).name} --seed {seed} --case {index}")
    if len(groups) > _SHOWN_FAILURES:
        print(f"and {len(groups) - _SHOWN_FAILURES} more kinds of failures")


def _group(problem: str) -> str:
    """Failures that differ in names and numbers only are shown once."""
    return re.sub(r"'[^']*'|\d+", "", problem)[:100]


def save(case: Case, name: str) -> Path:
    folder = SAVED / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INPUT).write_bytes(case.data)
    (folder / "arguments.json").write_text(json.dumps([case.kind, *case.arguments]))
    return folder


def load(folder: Path) -> Case:
    kind, *arguments = json.loads((folder / "arguments.json").read_text())
    return Case(kind, (folder / INPUT).read_bytes(), tuple(arguments))


def show(case: Case) -> int:
    """Runs one case and prints all about it."""
    outcome = run_case(case)
    print(f"relax-opt {' '.join(case.arguments)}")
    print(case.data.decode("utf-8", "backslashreplace"))
    print(f"exit code {outcome.code}; {outcome.problem or 'as promised'}\n{outcome.errors}")
    return bool(outcome.problem)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--cases", type=int, help="stop after this many cases")
    parser.add_argument("--seed", type=int, help="the same seed gives the same cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--case", type=int, help="run this case of the seed and show it")
    parser.add_argument("--replay", type=Path, help="run the saved case in this folder, or in each folder inside")
    options = parser.parse_args(argv)
    if options.replay:
        folders = sorted(path.parent for path in options.replay.rglob("arguments.json"))
        return max((show(load(folder)) for folder in folders), default=0)
    seed = Random().randrange(10**6) if options.seed is None else options.seed
    if options.case is not None:
        _preload()
        return show(make_case(seed, options.case))
    if options.seconds is None and options.cases is None:
        parser.error("how long? --seconds or --cases")
    return 1 if fuzz(seed, options.seconds, options.cases, options.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
