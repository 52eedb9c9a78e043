# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sweep of narrow kernels: products and convolutions of narrow numbers, compared with NumPy's integers in bits.

    narrow_kernels.py --jobs 2 --journal FILE             all of the table; the same command continues
    narrow_kernels.py --share 0.01 --draw 7               a hundredth of the table
    narrow_kernels.py --only '*ui8*outputs=2 *' --minutes 5
    narrow_kernels.py --draw 7 --cases 150                as in `make test`: mostly small cases
    narrow_kernels.py --case 1234                         one case, and a simpler case that fails alike

Each case is compiled for its target and called with arrays next to inaccessible pages. Its result must equal the
oracle's (narrow_oracle.py) and the reference's. A crash is a failure of its case, and the sweep continues.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
for _folder in ("", "python/helpers"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / _folder))

import narrow_cases  # noqa: E402
import narrow_programs  # noqa: E402
import narrow_targets  # noqa: E402
import numpy  # noqa: E402
from narrow_cases import Case  # noqa: E402
from relax_mlir_proof.testing import isolated  # noqa: E402

import relax_mlir as rx  # noqa: E402

_PATIENCE_S = 600.0
_SAID_EVERY_S = 20.0
#: Journal lines of a case: its number, its status, and the problem.
_STATUSES = ("right", "failed", "unavailable")
_SHOWN = 10


def check(cases: Sequence[Case]) -> list[tuple[int, str, str]]:
    """Return the number, status and problem of each case. The cases share a module."""
    reason = narrow_targets.missing(cases[0].target)
    if reason:
        return [(each.number, "unavailable", reason) for each in cases]
    programs = [narrow_programs.program(each) for each in cases]
    try:
        module = narrow_programs.module_of(programs)
        call = narrow_targets.compiled(module, cases[0].target, cases[0].level)
        reference = rx.reference(module)
    except Exception as error:
        return _refused(cases, error)
    return [
        (each.case.number, *_compared(each, partial(call, place), partial(_of_reference, reference, place)))
        for place, each in enumerate(programs)
    ]


def _of_reference(reference: Any, place: int, arrays: Sequence[Any], threads: int) -> list[Any]:
    return narrow_targets.listed(reference[f"f{place}"](*arrays))


def _refused(cases: Sequence[Case], error: Exception) -> list[tuple[int, str, str]]:
    """Return the failures of cases that are not compiled. Several cases are checked one by one."""
    if len(cases) > 1:
        return [outcome for each in cases for outcome in check([each])]
    return [(cases[0].number, "failed", f"{type(error).__name__}: {error}"[:300])]


def _compared(
    each: narrow_programs.Program, compiled: Callable[..., list[Any]], reference: Callable[..., list[Any]]
) -> tuple[str, str]:
    found = []
    for call in (reference, compiled):
        try:
            found.append(call(each.given, each.case.threads))
        except Exception as error:
            return "failed", f"{'the reference: ' * (not found)}{type(error).__name__}: {error}"[:300]
    # The oracle must be right itself before anything is compared with it.
    for program, results in zip(("the reference", "the program"), found, strict=True):
        for result, (name, wanted) in zip(results, each.wanted.items(), strict=True):
            problem = _difference(result, wanted)
            if problem:
                return "failed", f"{program}: {name}{': ' * bool(name)}{problem}"
    return "right", ""


def _difference(found: Any, wanted: Any) -> str:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype} {found.shape}, expected {wanted.dtype} {wanted.shape}"
    wide = "int64" if wanted.dtype.kind in "iu" else "float64"
    found, wanted = found.astype(wide), wanted.astype(wide)
    off = found != wanted
    if not off.any():
        return ""
    first = tuple(map(int, numpy.argwhere(off)[0]))
    return f"{off.sum()} of {off.size} results are wrong, first {first}: {found[first]}, expected {wanted[first]}"


def _check_numbers(numbers: Sequence[int]) -> list[tuple[int, str, str]]:
    return check([narrow_cases.case(number) for number in numbers])


# ---- runs ----


def sweep(
    modules: Iterator[tuple[int, ...]], jobs: int, end: float | None, fails_fast: bool = False
) -> Iterator[tuple[int, str, str]]:
    """Yield the outcome of each case. A crash of a module with several cases is narrowed down to the cases."""
    queue: Iterator[tuple[Any, ...]] = ((numbers,) for numbers in modules)
    died: list[tuple[int, ...]] = []
    for (numbers,), outcome in isolated.run(_check_numbers, queue, jobs, end, _PATIENCE_S, lambda cause, _: cause):
        if isinstance(outcome, str) and len(numbers) > 1:
            died.append(numbers)
            continue
        found = [(numbers[0], "failed", outcome)] if isinstance(outcome, str) else outcome
        yield from found
        if fails_fast and any(status == "failed" for _, status, _ in found):
            return
    for numbers in died:
        outcomes = list(sweep(iter([(number,) for number in numbers]), jobs, None))
        if all(status != "failed" for _, status, _ in outcomes):
            outcomes[0] = (numbers[0], "failed", f"the process died of the module of cases {numbers}")
        yield from outcomes


def simpler(case: Case) -> Iterator[Case]:
    """Yield cases with fewer properties, and smaller ones."""
    rank = case.family.rank
    changes: list[dict[str, Any]] = [{"requantize": None}] if not case.qdq else [{"qdq": False, "requantize": None}]
    changes += [{"steps": tuple(each for each in case.steps if each != step)} for step in case.steps]
    changes += [{"dynamic": False}, {"threads": 1}, {"x_zero": 0}, {"w_zero": 0, "w_zero_by_channel": False}]
    changes += [{"w_zero_by_channel": False}, {"target": "llvm"}, {"level": 2}, {"narrow_result": False}]
    if case.family.data:
        changes += [{"strides": (1,) * rank}, {"dilation": (1,) * rank}, {"padding": (0,) * 2 * rank}]
        changes += [{"window": (1,) * rank, "padding": (0,) * 2 * rank}]
    if case.family.kind == "grouped":
        changes += [{"groups": 2}]
    batch, *others = case.sizes
    changes += [{"sizes": (1, *others)}, {"sizes": (batch, *(max(each // 2, 1) for each in others))}]
    if "4c" not in case.family.data:
        changes += [{name: size} for name in ("outputs", "depth") for size in (1, 2, getattr(case, name) // 2,
                    getattr(case, name) - 1) if 0 < size < getattr(case, name)]  # fmt: skip
    for change in changes:
        if any(getattr(case, name) != value for name, value in change.items()):
            yield case._replace(**change)


def simplest(case: Case) -> tuple[Case, str]:
    """Return a case with as few properties as possible that fails, and its problem."""
    problem, is_changed = _alone(case), True
    while is_changed:
        is_changed = False
        for each in simpler(case):
            found = _alone(each)
            if found and "Error: " not in found:
                case, problem, is_changed = each, found, True
                break
    return case, problem


def _alone(case: Case) -> str:
    """Return the problem of a case, or an empty text."""
    ((_, outcome),) = isolated.run(
        lambda case: check([case]), iter([(case,)]), 1, None, _PATIENCE_S, lambda cause, _: [(0, "failed", cause)]
    )
    _, status, problem = outcome[0]
    return problem if status == "failed" else ""


def show(number: int) -> bool:
    """Print a case and its outcome, and the simplest case that fails. Return True if the case fails."""
    case = narrow_cases.case(number)
    problem = _alone(case)
    print(f"case {number}: {case.name()}\n  {problem or 'right'}")
    if problem:
        least, why = simplest(case)
        print(f"  simplest: {least.name()}\n  {why}")
        print(str(narrow_programs.module_of([narrow_programs.program(least)])))
    return bool(problem)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="share of the table to run (1)")
    parser.add_argument("--draw", default="", help="text that selects the share, or the drawn cases")
    parser.add_argument("--cases", type=int, help="draw this many cases, mostly small ones")
    parser.add_argument("--part", default="1/1", help="run this part of the drawn cases, such as 2/3")
    parser.add_argument("--only", default="*", help="pattern of cases' names, such as 'conv2d last ui8*outputs=2 *'")
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--journal", type=Path, help="file that gets a line for each case; its cases are not run again")
    parser.add_argument("--json", action="store_true", help="print the counts and the failures as JSON")
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first failure")
    parser.add_argument("--case", type=int, help="run this case and show it")
    options = parser.parse_args(argv)
    if options.case is not None:
        if not 0 <= options.case < narrow_cases.COUNT:
            parser.error(f"--case {options.case}: the table has the cases 0 to {narrow_cases.COUNT - 1}")
        return int(show(options.case))
    if not 0 < options.share <= 1:
        parser.error(f"--share {options.share}: a share is above 0 and at most 1")
    done = _journaled(options.journal)
    if options.cases is not None and not options.draw:
        parser.error("--cases needs --draw, a text that selects them")
    left = (tuple(each for each in numbers if each not in done) for numbers in _selected(options))
    return _run(filter(None, left), options, Counter(done.values()))


def _selected(options: argparse.Namespace) -> Iterator[tuple[int, ...]]:
    is_named = (lambda number: True) if options.only == "*" else partial(_is_named, options.only)
    if options.cases is not None:
        part, _, parts = options.part.partition("/")
        drawn = narrow_cases.drawn(options.draw, options.cases)[int(part) - 1 :: int(parts or 1)]
        yield from filter(None, (tuple(filter(is_named, numbers)) for numbers in drawn))
        return
    chance = Random(f"narrow share {options.draw}")
    numbers = (each for each in range(narrow_cases.COUNT) if chance.random() < options.share)
    yield from narrow_cases.modules(filter(is_named, numbers))


def _is_named(pattern: str, number: int) -> bool:
    return fnmatch.fnmatchcase(narrow_cases.case(number).name(), pattern)


def _journaled(path: Path | None) -> dict[int, str]:
    """Return the status of each case of a journal. An unfinished last line is no case."""
    if path is None or not path.exists():
        return {}
    lines = path.read_text().split("\n")[:-1]
    return {number: status for number, status, *_ in map(json.loads, lines)}


def _run(modules: Iterator[tuple[int, ...]], options: argparse.Namespace, statuses: Counter[str]) -> int:
    begun = said = time.monotonic()
    end = None if options.minutes is None else begun + 60 * options.minutes
    before, failures, total = statuses.total(), [], 0
    if options.only == "*":
        total = options.cases or round(options.share * narrow_cases.COUNT)
    with open(options.journal or os.devnull, "a") as journal:
        for number, status, problem in sweep(modules, options.jobs, end, options.fail_fast):
            statuses[status] += 1
            _write(journal, [number, status, *([problem] if problem and status == "failed" else [])])
            if status == "failed":
                failures.append((number, problem))
                print(f"FAILED: --case {number}: {narrow_cases.case(number).name()}\n  {problem}", flush=True)
            if time.monotonic() - said > _SAID_EVERY_S:
                said = time.monotonic()
                _say(statuses, before, total, said - begun)
    counts = ", ".join(f"{statuses[name]} {name}" for name in _STATUSES)
    if options.json:
        found = {"cases": statuses.total(), **{name: statuses[name] for name in _STATUSES}, "failures": failures}
        print(json.dumps(found))
    else:
        print(f"{statuses.total()} cases: {counts}; {time.monotonic() - begun:.0f} s")
    return 1 if statuses["failed"] else 0


def _write(journal: IO[str], line: list[Any]) -> None:
    journal.write(json.dumps(line) + "\n")
    journal.flush()


def _say(statuses: Counter[str], before: int, total: int, spent_s: float) -> None:
    """Print the counts to stderr, and the time that is left if the total is known."""
    done = statuses.total()
    rate = (done - before) / spent_s
    left = f" of about {total}, {(total - done) / max(rate, 1e-3) / 60:.0f} min left" if total else ""
    print(f"{done} cases{left}: {statuses['failed']} failed, {rate:.1f} a second", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
