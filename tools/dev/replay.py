# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile a fixed set of cases with an earlier commit and with this tree, and print what differs by stage and kernel.

    python tools/dev/replay.py HEAD~3                                   all cases, all targets
    python tools/dev/replay.py main --cases 'conv*' --targets llvm,c    some of them
    python tools/dev/replay.py main --show                              with the first difference as a unified diff

Uncommitted changes of this tree count. The exit status is 1 if anything differs that no line of the file of expected
differences covers: `case target stage reason`, of which the first three may be patterns. The stage is the first one
that differs; the line covers the later stages of the case, too.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import fnmatch
import io
import itertools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from generated import ROOT
from replay_cases import TARGETS, chosen_cases, write_case

#: Jobs of one process: starting it takes as long as two small cases.
_BATCH = 40
#: A process that runs longer hangs: the slowest batches take five minutes on a busy machine.
_LIMIT_S = 1800
_MOST_KERNELS, _MOST_REASON = 6, 80
_TITLES = ("case", "target", "first stage that differs", "kernels that differ", "code that differs")

Key = tuple[str, str]
Record = dict[str, Any]


class Side(NamedTuple):
    """One side of the comparison: its name in messages, and the folder of its tree."""

    name: str
    tree: Path

    def path(self) -> str:
        """Return the folders in which Python finds the tree's packages: the compiler and the plug-ins."""
        return os.pathsep.join(map(str, (self.tree, *sorted(self.tree.glob("plugins/*")))))


class Difference(NamedTuple):
    """The first stage of a case that differs, the kernels that differ in it, and the kinds of code that differ."""

    case: str
    target: str
    stage: str
    kernels: tuple[str, ...]
    code: tuple[str, ...]

    def row(self) -> tuple[str, ...]:
        more = len(self.kernels) - _MOST_KERNELS
        kernels = ", ".join(self.kernels[:_MOST_KERNELS]) + (f", {more} more" if more > 0 else "")
        return *self[:3], kernels, ", ".join(self.code) or "-"


# ---- trees and processes ----


@contextlib.contextmanager
def tree_of(base: str, repository: Path = ROOT) -> Iterator[Path]:
    """Yield a folder with the tree of a commit, or this folder itself. Exits if there is no such commit."""
    if base and Path(base).is_dir():
        yield Path(base).resolve()
        return
    # An archive, not `git worktree`: nothing stays in .git if this process is killed.
    command = ["git", "archive", "--format=tar", f"{base}^{{commit}}"]
    archived = subprocess.run(command, cwd=repository, capture_output=True, check=False)
    if archived.returncode:
        reason = archived.stderr.decode(errors="replace").strip()
        sys.exit(f"error: '{base}' is neither a commit nor a folder: name one, as in BASE=HEAD~1: {reason}")
    with tempfile.TemporaryDirectory(prefix="relax-replay-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
            files.extractall(folder)
        yield Path(folder).resolve()


class Runner(NamedTuple):
    """Starter of processes that compile cases: the folder of the cases' files, and descriptions by name."""

    folder: Path
    cases: Mapping[str, Record]

    def run(self, side: Side, keys: Sequence[Key], keep: str = "") -> dict[Key, Record]:
        """Return the results of one process after another. A case that kills its process has a result, too."""
        found: dict[Key, Record] = {}
        while left := [key for key in keys if key not in found]:
            code, records = self._process(side, left, keep)
            found.update(records)
            crashed = next((key for key in left if key not in found), None)
            if crashed is not None:
                error = f"the process ended with status {code}"
                found[crashed] = {"pipeline": [], "stages": {"crash": {error: ""}}, "error": error, "step": "crash"}
        return found

    def _process(self, side: Side, keys: Sequence[Key], keep: str) -> tuple[int, dict[Key, Record]]:
        with tempfile.TemporaryDirectory(prefix="relax-replay-") as scratch:
            results = Path(scratch) / "results"
            jobs = [(self.cases[case], target) for case, target in keys]
            files = {"folder": str(self.folder), "results": str(results)}
            task = {"side": side.name, "keep": keep, "targets": TARGETS, "jobs": jobs, **files}
            own = {"PYTHONPATH": side.path(), "PYTHONHASHSEED": "0", "RELAX_MLIR_CACHE": scratch}
            command = [sys.executable, str(ROOT / "tools" / "dev" / "replay_case.py")]
            start = partial(subprocess.run, cwd=side.tree, env={**os.environ, **own}, text=True, check=False)
            try:
                code = start(command, input=json.dumps(task), timeout=_LIMIT_S).returncode
            except subprocess.TimeoutExpired:
                code = 124  # as the command timeout
            # The file is there once the tree has been imported. Status 1 is an error of the tree as a whole.
            if code == 1 or not results.exists():
                sys.exit(f"error: {side.name}: cannot compile with the tree {side.tree}: status {code}")
            records = map(json.loads, results.read_text("utf-8").splitlines())
            return code, {(each["case"], each["target"]): each for each in records}

    def run_both(self, sides: Sequence[Side], keys: Sequence[Key], jobs: int) -> list[dict[Key, Record]]:
        """Return the results of both sides, which run at the same time if `jobs` allows it."""
        batches = [keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH)]
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            begun = [[pool.submit(self.run, side, batch) for side in sides] for batch in batches]
            both = zip(*begun, strict=True)
            return [{key: each for future in futures for key, each in future.result().items()} for futures in both]


# ---- comparison ----


def difference(key: Key, base: Record, head: Record) -> Difference | None:
    """Return the first stage that differs with its kernels, or None if all stages of both pipelines are equal."""
    one, other = base["stages"], head["stages"]
    added = {*base["pipeline"]} ^ {*head["pipeline"]} if base["pipeline"] and head["pipeline"] else set()
    differing = [each for each in {**other, **one} if each not in added and _items(one, each) != _items(other, each)]
    if not differing:
        return None
    first = differing[0]
    code = tuple(each.removeprefix("code:") for each in differing if each.startswith("code:"))
    for side, stages in (("base", one), ("head", other)):
        if first not in stages:
            reason = "".join(f": {line[:_MOST_REASON]}" for line in (base["error"] or head["error"]).splitlines()[:1])
            return Difference(*key, first, (f"(not in {side}{reason})",), code)
    return Difference(*key, first, tuple(_differing(one[first], other[first])) or ("(order)",), code)


def _items(stages: Mapping[str, Mapping[str, str]], stage: str) -> list[tuple[str, str]] | None:
    """Return the pieces of a stage in their order, which counts."""
    return list(stages[stage].items()) if stage in stages else None


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def diff(found: Difference, base: Record, head: Record) -> Iterator[str]:
    """Yield the lines of a unified diff of the first kernel that differs; both records hold the stage's texts."""
    one, other = (record["stages"].get(found.stage, {}) for record in (base, head))
    for name in _differing(one, other)[:1]:
        left, right = (side.get(name, "").splitlines() for side in (one, other))
        title = f"{found.case} {found.target} {found.stage}: {name}"
        yield from difflib.unified_diff(left, right, f"base {title}", f"head {title}", lineterm="")


def read_expected(path: str) -> list[list[str]]:
    """Return the lines of a file of expected differences: patterns of case, target and stage, and the reason."""
    try:
        text = Path(path).read_text("utf-8") if path else ""
    except OSError as error:
        sys.exit(f"error: cannot read {path}: {error.strerror}")
    lines = [line.split(maxsplit=3) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    short = next((line for line in lines if len(line) < 4), None)
    if short is not None:
        sys.exit(f"error: {path}: '{' '.join(short)}': expected `case target stage reason`")
    return lines


def _covers(line: Sequence[str], found: Difference) -> bool:
    return all(fnmatch.fnmatchcase(text, pattern) for text, pattern in zip(found[:3], line, strict=False))


# ---- report ----


def _pipeline_notes(target: str, base: Record, head: Record) -> Iterator[str]:
    for side, one, other in (("base", base, head), ("head", head, base)):
        names = [name for name in one["pipeline"] if name not in other["pipeline"]]
        if names and other["pipeline"]:
            yield f"only in the pipeline of {side} for {target}, not compared: {', '.join(names)}"


def report(
    base: Mapping[Key, Record], head: Mapping[Key, Record], expected: Sequence[Sequence[str]]
) -> list[Difference]:
    """Print the comparison, and return the differences that are not expected."""
    unread = [key for key in head if base[key]["step"] == "read" != head[key]["step"]]
    for key in unread:
        print(f"not compared: base cannot read {key[0]} for {key[1]}: {base[key]['error'].splitlines()[0]}")
    compared = [key for key in head if key not in unread]
    for note in sorted({each for key in compared for each in _pipeline_notes(key[1], base[key], head[key])}):
        print(note)
    found = [each for key in compared if (each := difference(key, base[key], head[key])) is not None]
    surprising = [each for each in found if not any(_covers(line, each) for line in expected)]
    for line in expected:
        if not any(_covers(line, each) for each in found):
            print(f"expected, but equal: {' '.join(line)}")
    rows: list[tuple[str, ...]] = [_TITLES, *(each.row() for each in surprising)] if surprising else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(
        f"{len(compared)} compilations compared: {len(compared) - len(found)} equal, {len(surprising)} differ, "
        f"{len(found) - len(surprising)} differ as expected; {sum(1 for key in compared if head[key]['error'])} are "
        "refused by the compiler at head"
    )
    return surprising


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="replay.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="a commit, or a folder with a tree")
    parser.add_argument("--head", default=str(ROOT), help="a commit or a folder in place of this tree")
    parser.add_argument("--cases", default="", help="patterns of names of cases, separated by spaces (all)")
    parser.add_argument("--targets", default="", help=f"some of {','.join(TARGETS)} (all)")
    parser.add_argument("--expected", default="", help="a file of expected differences")
    parser.add_argument("--show", action="store_true", help="print the first difference as a unified diff")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time (2)")
    options = parser.parse_args(argv)
    names = options.targets.replace(",", " ").split() or list(TARGETS)
    unknown = next((name for name in names if name not in TARGETS), None)
    if unknown is not None:
        parser.error(f"unknown target {unknown} (known: {', '.join(TARGETS)})")
    cases, expected = chosen_cases(options.cases.split()), read_expected(options.expected)
    if not cases:
        parser.error(f"no case matches {options.cases} (known: {', '.join(each.name for each in chosen_cases([]))})")
    with contextlib.ExitStack() as stack:
        given = {"base": options.base, "head": options.head}
        sides = [Side(name, stack.enter_context(tree_of(each))) for name, each in given.items()]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="relax-replay-")))
        runner = Runner(folder, {each.name: write_case(each, folder) for each in cases})
        keys = list(itertools.product(runner.cases, names))
        base, head = runner.run_both(sides, keys, options.jobs)
        surprising = report(base, head, expected)
        if surprising and options.show:
            first = surprising[0]
            kept = [runner.run(side, [first[:2]], keep=first.stage)[first[:2]] for side in sides]
            print("\n".join(diff(first, *kept)))
    return 1 if surprising else 0


if __name__ == "__main__":
    sys.exit(main())
