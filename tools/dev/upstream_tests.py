# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Test suites of other projects: their folder, the cases that a share draws, and the list of failing cases.

The files stay with their projects: TESTS names a folder, else an archive beside this project is unpacked into build/.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import zlib
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from case_results import CaseResult, differences
from generated import ROOT

sys.path.append(str(ROOT / "test" / "python" / "frontends" / "onnx"))

import known_failures  # found by the line above

ARCHIVE = ROOT.parent / "shared" / "data" / "others-tests.tar.gz"
UNPACKED = ROOT / "build" / "others-tests"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tests", default="", metavar="FOLDER", help="the suite's files; else those of the archive")
    add_case_options(parser)


def add_case_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a suite that is part of this project."""
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases, or patterns of them")
    parser.add_argument("--share", type=float, default=1.0, help="share of the cases that run, drawn")
    parser.add_argument("--draw", type=int, default=0, help="number that decides which cases the share draws")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120, help="seconds for a case")
    parser.add_argument("--write", action="store_true", help="write the list; reasons that it has already stay")


def folder_of(given: str, name: str, upstream: str, archive: Path = ARCHIVE, unpacked: Path = UNPACKED) -> Path | str:
    """Return the folder of a suite, or a message where there is none. `name` is the suite's folder in the archive."""
    if given:
        folder = Path(given)
        return folder if folder.is_dir() else f"no folder {given}: TESTS names the suite's folder, {upstream}"
    if not archive.is_file():
        return f"the suite's files are not part of this project: get them from {upstream}, and pass --tests that-folder"
    with tarfile.open(archive) as packed:
        members = [each for each in packed.getmembers() if each.isfile() and each.name.split("/")[0] == name]
        packed.extractall(unpacked, members, filter="data")
    folder = unpacked / name
    return folder if folder.is_dir() else f"{archive} has no folder {name}: get it from {upstream}, and pass --tests"


def is_drawn(name: str, options: argparse.Namespace) -> bool:
    """Return True if the options choose a case: a share of the named ones. A draw decides each case by itself."""
    if options.only and not any(fnmatchcase(name, each) for each in options.only):
        return False
    return zlib.crc32(f"{options.draw} {name}".encode()) < options.share * 2**32


def reason_of(name: str, listed: dict[str, str]) -> str | None:
    """Return the reason that the list gives for a case, by its name or a pattern; None where it is not listed."""
    if name in listed:
        return listed[name]
    return next((reason for each, reason in listed.items() if fnmatchcase(name, each)), None)


def show(results: Sequence[CaseResult]) -> None:
    counts = Counter(each.status for each in results)
    print(", ".join(f"{count} {status}" for status, count in counts.most_common()), f"of {len(results)}")


def finish(results: Sequence[CaseResult], path: Path, header: str, is_written: bool) -> int:
    """Compare results with the list, or write it with their reasons; return the exit code."""
    show(results)
    listed = known_failures.read(path)
    failed = {each.name: each.reason for each in results if each.status in ("failed", "crashed")}
    if is_written:
        passed = {each.name for each in results} - set(failed)
        new = {name: reason for name, reason in failed.items() if reason_of(name, listed) is None}
        known_failures.write(
            {name: reason for name, reason in listed.items() if name not in passed} | new, path, header
        )
        return 0
    named = {each.name: reason_of(each.name, listed) or "" for each in results}
    own = {name: reason for name, reason in named.items() if reason and (name in listed or name in failed)}
    wrong = differences([each for each in results if each.status != "left out"], own)
    for line in wrong:
        print(f"error: {line}")
    return 1 if wrong else 0
