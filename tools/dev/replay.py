# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile a fixed set of cases with an earlier commit and with this tree, and print what differs by stage and kernel.

    python tools/dev/replay.py HEAD~3                                   all cases, all targets
    python tools/dev/replay.py main --cases 'conv*' --targets llvm,c    some of them
    python tools/dev/replay.py main --show                              with the first difference as a unified diff
    python tools/dev/replay.py main --expected differences.txt          listed differences are no failure

Uncommitted changes of this tree count. A line of the file of expected differences is `case target stage reason`; the
first three may be patterns. The exit status is 1 if anything else differs.
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
from pathlib import Path
from typing import Any, NamedTuple

from generated import ROOT
from replay_cases import TARGETS, ReplayTarget, chosen_cases, write_case

#: Jobs of one process: starting it takes as long as two small cases.
_BATCH = 40
_MOST_KERNELS = 6

Key = tuple[str, str]
Record = dict[str, Any]


class Side(NamedTuple):
    """One side of the comparison: its name in messages, and the folder of its tree."""

    name: str
    tree: Path


class Difference(NamedTuple):
    """The first stage of a case that differs, the kernels that differ in it, and the later stages that differ."""

    case: str
    target: str
    stage: str
    kernels: tuple[str, ...]
    later: tuple[str, ...]

    def row(self) -> tuple[str, str, str, str, str]:
        more = len(self.kernels) - _MOST_KERNELS
        kernels = ", ".join(self.kernels[:_MOST_KERNELS]) + (f", {more} more" if more > 0 else "")
        return self.case, self.target, self.stage, kernels, ", ".join(self.later) or "-"


class Expected(NamedTuple):
    """A line of the file of expected differences."""

    case: str
    target: str
    stage: str
    reason: str

    def covers(self, found: Difference) -> bool:
        return all(map(fnmatch.fnmatchcase, found[:3], self[:3]))


# ---- trees and processes ----


@contextlib.contextmanager
def tree_of(base: str, repository: Path = ROOT) -> Iterator[Path]:
    """Yield a folder with the tree of a commit, or the given folder itself. Exits if there is no such commit."""
    if Path(base).is_dir():
        yield Path(base).resolve()
        return
    # An archive, not `git worktree`: nothing stays in .git if this process is killed.
    archived = subprocess.run(["git", "archive", "--format=tar", base], cwd=repository, capture_output=True, check=False)
    if archived.returncode:
        reason = archived.stderr.decode(errors="replace").strip()
        sys.exit(f"error: BASE={base} is neither a commit of this repository nor a folder: {reason}")
    with tempfile.TemporaryDirectory(prefix="relax-replay-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
            files.extractall(folder)
        yield Path(folder).resolve()


class Runner(NamedTuple):
    """Starts processes that compile cases: the folder of the cases' files, and descriptions by name."""

    folder: Path
    cases: Mapping[str, Record]
    targets: Mapping[str, ReplayTarget]

    def run(self, side: Side, keys: Sequence[Key], keep: str = "") -> dict[Key, Record]:
        """Return the results of one process after another: a case that ends its process is a result, too."""
        found: dict[Key, Record] = {}
        while left := [key for key in keys if key not in found]:
            code = self._process(side, left, keep, found)
            crashed = next((key for key in left if key not in found), None)
            if crashed is not None:
                error = f"the process ended with status {code}"
                stages = {"crash": {error: ""}}
                found[crashed] = {"stages": stages, "error": error, "step": "crash"}
            elif code:
                sys.exit(f"error: {side.name}: replay_case.py ended with status {code}")
        return found

    def _process(self, side: Side, keys: Sequence[Key], keep: str, found: dict[Key, Record]) -> int:
        with tempfile.TemporaryDirectory(prefix="relax-replay-") as scratch:
            results = Path(scratch) / "results"
            results.touch()
            jobs = [(self.cases[case], self.targets[target]._asdict()) for case, target in keys]
            task = {"side": side.name, "folder": str(self.folder), "results": str(results), "keep": keep, "jobs": jobs}
            environment = {**os.environ, "PYTHONPATH": str(side.tree), "PYTHONHASHSEED": "0", "RELAX_MLIR_CACHE": scratch}
            command = [sys.executable, str(Path(__file__).with_name("replay_case.py"))]
            done = subprocess.run(
                command, cwd=side.tree, env=environment, input=json.dumps(task), text=True, check=False
            )  # fmt: skip
            for line in results.read_text("utf-8").splitlines():
                record = json.loads(line)
                found[record["case"], record["target"]] = record
            return done.returncode

    def run_both(self, sides: Sequence[Side], keys: Sequence[Key], jobs: int) -> list[dict[Key, Record]]:
        """Return the results of both sides, which run at the same time if `jobs` allows it."""
        batches = [keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH)]
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            begun = [[pool.submit(self.run, side, batch) for side in sides] for batch in batches]
            results: list[dict[Key, Record]] = [{} for _ in sides]
            for futures in begun:
                for result, future in zip(results, futures, strict=True):
                    result.update(future.result())
        return results


# ---- comparison ----


def difference(key: Key, base: Record, head: Record) -> Difference | None:
    """Return the first stage that differs with its kernels, or None if all stages are equal."""
    stages = [*head["stages"], *(stage for stage in base["stages"] if stage not in head["stages"])]
    pairs = [(stage, base["stages"].get(stage), head["stages"].get(stage)) for stage in stages]
    differing = [(stage, one, other) for stage, one, other in pairs if one != other or _order(one) != _order(other)]
    if not differing:
        return None
    (stage, one, other), *later = differing
    return Difference(*key, stage, _kernels(one, other, base, head), tuple(each[0] for each in later))


def _order(stage: Mapping[str, str] | None) -> list[str]:
    return list(stage or ())


def _kernels(
    one: Mapping[str, str] | None, other: Mapping[str, str] | None, base: Record, head: Record
) -> tuple[str, ...]:
    if one is None or other is None:
        side, error = ("base", base["error"]) if one is None else ("head", head["error"])
        return (f"(not in {side}{': ' + error.splitlines()[0] if error else ''})",)
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return tuple(names) or ("(order)",)


def read_expected(path: Path | None) -> list[Expected]:
    if path is None:
        return []
    lines = [line.split(maxsplit=3) for line in path.read_text("utf-8").splitlines() if line.strip()]
    short = next((line for line in lines if len(line) < 4 and not line[0].startswith("#")), None)
    if short is not None:
        sys.exit(f"error: {path}: '{' '.join(short)}': expected `case target stage reason`")
    return [Expected(*line) for line in lines if not line[0].startswith("#")]


def diff(found: Difference, base: Record, head: Record) -> Iterator[str]:
    """Yield the lines of a unified diff of the first kernel that differs; both records hold the stage's texts."""
    one, other = (record["stages"].get(found.stage, {}) for record in (base, head))
    name = next((name for name in {**one, **other} if one.get(name) != other.get(name)), None)
    if name is not None:
        texts = [side.get(name, "").splitlines() for side in (one, other)]
        titles = [f"{side} {found.case} {found.target} {found.stage}: {name}" for side in ("base", "head")]
        yield from difflib.unified_diff(*texts, *titles, lineterm="")


# ---- report ----


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def report(keys: Sequence[Key], base: Mapping[Key, Record], head: Mapping[Key, Record], expected: Sequence[Expected]) -> list[Difference]:
    """Print the comparison, and return the differences that are not expected."""
    unread = [key for key in keys if base[key]["step"] == "read" and base[key]["error"] and not _is_unread(head[key])]
    for case, target in unread:
        print(f"not compared: base cannot read {case} for {target}: {base[case, target]['error'].splitlines()[0]}")
    compared = [key for key in keys if key not in unread]
    found = [each for key in compared if (each := difference(key, base[key], head[key])) is not None]
    surprising = [each for each in found if not any(line.covers(each) for line in expected)]
    for line in expected:
        if not any(line.covers(each) for each in found):
            print(f"expected, but equal: {line.case} {line.target} {line.stage}")
    titles = ("case", "target", "first stage that differs", "kernels that differ", "later stages that differ")
    if surprising:
        print("\n".join(table([titles, *(each.row() for each in surprising)])))
    refused = sum(1 for key in compared if head[key]["error"])
    print(
        f"{len(compared)} compilations compared: {len(compared) - len(found)} equal, {len(surprising)} differ, "
        f"{len(found) - len(surprising)} differ as expected; {refused} end in an error of the compiler at head"
    )
    return surprising


def _is_unread(record: Record) -> bool:
    return record["step"] == "read" and bool(record["error"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="replay.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="a commit, or a folder with a tree")
    parser.add_argument("--head", default=str(ROOT), help="a commit or a folder in place of this tree")
    parser.add_argument("--cases", default="", help="patterns of names of cases, separated by spaces")
    parser.add_argument("--targets", default="", help=f"of {','.join(each.name for each in TARGETS)} (all)")
    parser.add_argument("--expected", type=Path, help="a file of expected differences")
    parser.add_argument("--show", action="store_true", help="print the first difference as a unified diff")
    parser.add_argument("--list", action="store_true", help="print the names of the cases, compile nothing")
    parser.add_argument("--jobs", type=int, default=2, help="processes at the same time (2)")
    options = parser.parse_args(argv)
    cases, expected = chosen_cases(options.cases.split()), read_expected(options.expected)
    targets = {each.name: each for each in TARGETS}
    names = options.targets.replace(",", " ").split() or list(targets)
    unknown = next((name for name in names if name not in targets), None)
    if unknown is not None:
        parser.error(f"unknown target {unknown} (known: {', '.join(targets)})")
    if not cases:
        parser.error(f"no case matches {options.cases}: --list prints their names")
    if options.list:
        print("\n".join(each.name for each in cases))
        return 0
    with contextlib.ExitStack() as stack:
        sides = [Side(name, stack.enter_context(tree_of(given))) for name, given in
                 (("base", options.base), ("head", options.head))]  # fmt: skip
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="relax-replay-")))
        runner = Runner(folder, {each.name: write_case(each, folder) for each in cases}, targets)
        keys = list(itertools.product(runner.cases, names))
        base, head = runner.run_both(sides, keys, options.jobs)
        surprising = report(keys, base, head, expected)
        if surprising and options.show:
            first = surprising[0]
            kept = [runner.run(side, [first[:2]], keep=first.stage)[first[:2]] for side in sides]
            print("\n".join(diff(first, *kept)))
    return 1 if surprising else 0


if __name__ == "__main__":
    sys.exit(main())
