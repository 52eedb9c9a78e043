# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check a change in a minute: lint of the files that differ from main, and the nearest tests, with nothing drawn.

Usage: check_change.py [--base main] [--seconds 60] [--jobs 2]. Tests of changed files come first, then tests that
mirror changed files of the product, nearest first. What does not fit into the time is listed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from mirrored import PRODUCT, environment_of, is_lit, mirrored_tests

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
HERE = Path(__file__).resolve().parent
#: Checks of the house rules that read all files in a few seconds.
CHECKERS = ("check_layers.py", "check_plugins.py", "check_prose.py", "check_names.py")


def changed_files(base: str) -> list[str]:
    """Return the existing files that differ from a branch, and new files that git does not ignore."""
    differing = _git("diff", "--name-only", "--merge-base", base)
    names = {*differing, *_git("ls-files", "--others", "--exclude-standard")}
    return sorted(name for name in names if (ROOT / name).is_file())


def _git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()


def nearest_tests(files: Sequence[str]) -> list[str]:
    """Return changed tests, then the tests that mirror changed files: the nearest of each file first."""
    tests = [name for name in files if _is_test(name)]
    product = [name for name in files if name.endswith(".py") and _is_product(name)]
    lists = [[test for group in mirrored_tests(ROOT, name) for test in group] for name in product]
    nearest = [test for row in zip_longest(*lists) for test in row if test is not None]
    return [test for test in dict.fromkeys([*tests, *nearest]) if not environment_of(test)]


def _is_test(name: str) -> bool:
    path = Path(name)
    return path.suffix in (".py", ".mlir") and (is_lit(name) or path.name.startswith("test_"))


def _is_product(name: str) -> bool:
    parts = Path(name).parts
    return parts[0] in PRODUCT and parts[:2] != ("tools", "dev") and "test" not in parts


def lint(files: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the name of each check with its result."""
    python = [name for name in files if name.endswith(".py")]
    if python:
        yield "ruff check", _runs([TOOLS / "ruff", "check", "--quiet", *python])
        yield "ruff format", _runs([TOOLS / "ruff", "format", "--quiet", "--check", *python])
    for checker in CHECKERS:
        yield checker, _runs([sys.executable, HERE / checker])


def _runs(command: Sequence[str | Path], seconds: float | None = None) -> bool:
    """Run a command with nothing drawn, and return True if it succeeds. A command that takes too long is ended."""
    environment = {**os.environ, "RELAX_MLIR_DRAW": ""}
    try:
        return subprocess.run(list(map(str, command)), cwd=ROOT, env=environment, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"stopped after {seconds:.0f} s: {' '.join(map(str, command[-1:]))}")
        return True


def run_tests(tests: Sequence[str], deadline: float, jobs: int) -> Iterator[tuple[str, bool]]:
    """Yield each test file with its result until the deadline. Lit tests and tests of plug-ins run by themselves."""
    for number, test in enumerate(tests):
        left = deadline - time.monotonic()
        if left <= 0:
            print(f"no time was left for {len(tests) - number} files: {' '.join(tests[number:])}")
            return
        tool, *words = ("lit", "-q") if is_lit(test) else ("pytest", "-q", "-n", str(jobs))
        command = [str(TOOLS / tool), *words, test]
        yield test, _runs(command, left)


def main(arguments: list[str] | None = None) -> int:
    """Print what fails. Return 1 if something does."""
    parser = argparse.ArgumentParser(prog="check_change.py", description=__doc__)
    parser.add_argument("--base", default="main", help="branch or commit to compare with (default: main)")
    parser.add_argument("--seconds", type=float, default=60, help="time for everything (default: 60)")
    parser.add_argument("--jobs", type=int, default=2, help="test processes (default: 2)")
    options = parser.parse_args(arguments)
    deadline = time.monotonic() + options.seconds
    files = changed_files(options.base)
    if not files:
        print(f"nothing differs from {options.base}")
        return 0
    tests = nearest_tests(files)
    print(f"{len(files)} files differ from {options.base}; {len(tests)} test files are near")
    results = [*lint(files), *run_tests(tests, deadline, options.jobs)]
    failed = [name for name, succeeded in results if not succeeded]
    print(
        f"{len(results) - len(failed)} checks and test files passed"
        + (f"; failed: {' '.join(failed)}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
