# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run torch's own tables of operators, each entry in a process that may die, and compare with the refused ones."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for _folder in (ROOT / "test" / "pytorch", ROOT / "test" / "python" / "helpers"):
    sys.path.append(str(_folder))

import refusals  # noqa: E402  # found by the lines above, as the next
from op_checks import VERDICTS  # noqa: E402
from op_entries import DTYPES, USUAL_LIMIT, entries  # noqa: E402
from op_peers import PEERS  # noqa: E402
from op_workers import Outcome, Task, run_all  # noqa: E402

# Gradients are tested by steps of training, through torch.compile.
# Divided samples (op_placements.py) are checked if asked for.
MODES = ("static", "dynamic", "gradients", "ranks", "ranks_split")
# Dynamic sizes hardly depend on element types.
USUAL_DTYPES = {"static": list(DTYPES), "dynamic": ["f32", "i64"], "gradients": ["f32"],
                "ranks": ["f32", "i64"], "ranks_split": ["f32"]}  # fmt: skip
_REPORTED_EVERY = 30.0
_MOST_REASONS = 60


def tasks_of(patterns: list[str], dtypes: list[str], modes: list[str]) -> list[Task]:
    """Return the tasks of matching entries for the dtypes and modes."""
    chosen: list[Task] = []
    for name, entry in entries().items():
        if patterns and not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            continue
        own = entry.dtypes()
        for mode in modes:
            if mode == "gradients" and not getattr(entry.info, "supports_autograd", True):
                continue
            chosen += [Task(name, mode, dtype) for dtype in own if dtype in (dtypes or USUAL_DTYPES[mode])]
    return chosen


class Progress:
    """Report of progress now and then, and of problems as they occur. Results are saved on the way."""

    def __init__(self, count: int, path: Path):
        self._count = count
        self._path = path
        self._outcomes: list[Outcome] = []
        self._start = self._last = time.monotonic()

    def __call__(self, outcome: Outcome) -> None:
        self._outcomes.append(outcome)
        for line in refusals.bugs_of(outcome):
            print(line, file=sys.stderr, flush=True)
        now = time.monotonic()
        if now - self._last < _REPORTED_EVERY:
            return
        self._last = now
        print(f"{len(self._outcomes)} of {self._count}, {now - self._start:.0f} seconds", file=sys.stderr, flush=True)
        save(self._outcomes, self._path)


def worst(outcome: Outcome) -> str:
    found = {verdict for verdict, _, _ in outcome.verdicts.values()}
    return next(
        (verdict for verdict in VERDICTS[:-2] if verdict in found), "passes" if "passes" in found else "left out"
    )


def show(outcomes: list[Outcome]) -> None:
    """Print counts by mode and dtype, of entries by their worst sample and of samples; then the reasons."""
    print(f"{'':<14}" + "".join(f"{verdict:>14}" for verdict in VERDICTS) + f"{'all':>8}")
    for mode in sorted({each.task.mode for each in outcomes}, reverse=True):
        of_mode = [each for each in outcomes if each.task.mode == mode]
        for dtype in DTYPES:
            _row(f"{mode} {dtype}", Counter(worst(each) for each in of_mode if each.task.dtype == dtype))
        _row(mode, Counter(map(worst, of_mode)))
        _row("  samples", Counter(verdict for each in of_mode for verdict, _, _ in each.verdicts.values()))
    groups: dict[tuple[str, str], list[str]] = {}
    for each in outcomes:
        for verdict, reason, _ in each.verdicts.values():
            if verdict != "passes" or reason:
                groups.setdefault((verdict, reason), []).append(f"{each.task.entry} {each.task.dtype} {each.task.mode}")
    ordered = sorted(groups.items(), key=lambda group: (VERDICTS.index(group[0][0]), -len(group[1]), group[0]))
    for (verdict, reason), names in ordered[:_MOST_REASONS]:
        print(f"{len(names):6} {verdict}: {reason} ({names[0]})")
    if len(ordered) > _MOST_REASONS:
        print(f"and {len(ordered) - _MOST_REASONS} other reasons")


def _row(name: str, counts: Counter[str]) -> None:
    if counts:
        cells = "".join(f"{counts[verdict]:>14}" for verdict in VERDICTS)
        print(f"{name:<14}{cells}{sum(counts.values()):>8}")


def save(outcomes: list[Outcome], path: Path) -> None:
    """Save all verdicts as JSON. Passing ones are numbers only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for each in outcomes:
        verdicts = each.verdicts.items()
        problems = [
            {"place": place, "verdict": verdict, "reason": reason, "sample": sample}
            for place, (verdict, reason, sample) in verdicts
            if verdict != "passes"
        ]
        counts = Counter(verdict for _, (verdict, _, _) in verdicts)
        rows.append({**each.task._asdict(), "samples": counts, "seconds": round(each.seconds, 2), "problems": problems})
    path.write_text(json.dumps(rows, indent=1))


def written(outcomes: list[Outcome], listed: refusals.Refusals, mode: str) -> None:
    """Write the list with new results for the entries that ran."""
    of_mode = [each for each in outcomes if each.task.mode == mode]
    ran = {(each.task.entry, each.task.dtype) for each in of_mode}
    kept = {key: refusal for key, refusal in listed.items() if key not in ran}
    refusals.write(mode, kept | refusals.of_outcomes(of_mode))


def main() -> int:
    parser = argparse.ArgumentParser(prog="torch_ops.py", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="entries, or patterns: 'nn.*' 'module/*'")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=[], help="usually all; f32 and i64 if dynamic")
    parser.add_argument("--static", action="store_true", help="static sizes only")
    parser.add_argument("--dynamic", action="store_true", help="dynamic sizes only")
    parser.add_argument("--gradients", action="store_true", help="steps of training only")
    parser.add_argument("--ranks", action="store_true", help="samples divided in four ways only, on four ranks")
    parser.add_argument("--ranks-split", action="store_true", help="the same, with divided sums")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit-samples", type=int, default=USUAL_LIMIT, help="samples of an entry and a dtype")
    parser.add_argument("--limit", type=float, default=120, help="seconds for an entry and a dtype")
    parser.add_argument("--with", dest="peer", choices=PEERS, default="relax", help="what runs the exported program")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "torch-ops.json")
    parser.add_argument("--write", action="store_true", help="write the lists of what is refused")
    options = parser.parse_args()
    modes = [mode for mode in MODES if getattr(options, mode)] or list(MODES[:3])
    start = time.monotonic()
    tasks = tasks_of(options.only, options.dtype, modes)
    if not tasks:
        parser.error("no such entry, or not with this dtype: names are torch's, as nn.functional.conv2d, hop/cond")
    with tempfile.TemporaryDirectory() as folder:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = folder
        limits = (options.limit_samples, options.limit)
        outcomes = run_all(tasks, PEERS[options.peer], options.jobs, *limits, Progress(len(tasks), options.json))
    show(outcomes)
    save(outcomes, options.json)
    longest = sorted(outcomes, key=lambda each: -each.seconds)[:5]
    shown = ", ".join(f"{' '.join(each.task)} {each.seconds:.0f} s" for each in longest)
    print(f"{time.monotonic() - start:.0f} seconds; the longest: {shown}; all verdicts: {options.json}")
    listed = {mode: refusals.read(mode) for mode in modes}
    if options.write:
        for mode in modes:
            written(outcomes, listed[mode], mode)
        listed = {mode: refusals.read(mode) for mode in modes}
    wrong = refusals.differences(outcomes, listed)
    for line in wrong:
        print(f"error: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
