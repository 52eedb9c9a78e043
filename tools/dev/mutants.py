# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Insert small bugs into the product, one at a time, and report the bugs that the tests which mirror the file notice.

    mutants.py                                  files that differ from main, 40 bugs
    mutants.py passes/graph/fuse/block.py --sample 0  one file, all its bugs
    mutants.py --all --sample 100 --seed 7      drawn from the whole product

The bugs are inserted into a copy of the tree. The same seed gives the same bugs. Tests with torch, jax and TVM run in
their own environments, which the run sets up.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import watched
from mirrored import ENVIRONMENTS, PRODUCT, environment_of, is_lit, make_targets, mirrored_tests
from mutations import Mutation, difference, mutations_of

REPOSITORY = Path(__file__).resolve().parents[2]
# In pytest's form: there may be spaces in the brackets; only a file if its import fails.
_TEST = r"(?:plugins/[^/\s]+/)?test/\S+?\.py(?:::[^\s\[]+(?:\[.*?\])?)?"
# A command of tests that takes so much longer than the budget does not end.
_LONGEST_CPU_S = 120
# A command that is idle for so long, with all its children, waits for something that never happens.
_LONGEST_WAIT_S = 60
_WAITED = f"nothing of it did anything for {_LONGEST_WAIT_S} s"


class Run(NamedTuple):
    passed: bool
    cpu_s: float
    output: str


class Copy:
    """Copy of the tree, with a package that is found before the installed one."""

    def __init__(self, folder: Path):
        self.root = folder / "tree"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout
        for name in listed.decode().split("\0"):
            if name and (REPOSITORY / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, self.root / name)
        self._package = folder / "package"
        front_door = self._package / "relax_mlir"
        front_door.mkdir(parents=True)
        for path in (self.root / "relax_mlir").iterdir():
            (front_door / path.name).symlink_to(path)
        for name in PRODUCT:
            if name not in ("relax_mlir", "plugins"):
                (front_door / name).symlink_to(self.root / name)
        for plugin in self.root.glob("plugins/*/relax_mlir_*"):
            (self._package / plugin.name).symlink_to(plugin)
        self._baselines: dict[tuple[str, ...], Run] = {}

    def run(self, tests: Sequence[str], spend_s: float, nearest_to: str = "") -> Run:
        """Run the tests, pytest's and lit's, until one fails. No test of pytest starts after the time is spent.

        The tests nearest to `file:line` run first.
        """
        before, output = _cpu_s(), ""
        for command in self._commands(tests, spend_s, nearest_to):
            done = self._run(command, spend_s + _LONGEST_CPU_S)
            output += done.output
            if not done.passed:
                return Run(False, _cpu_s() - before, output)
        return Run(True, _cpu_s() - before, output)

    def _commands(self, tests: Sequence[str], spend_s: float, nearest_to: str) -> list[list[str]]:
        python = [test for test in tests if not is_lit(test)]
        lit = [test for test in tests if is_lit(test)]
        commands = []
        if lit:
            commands.append([str(Path(sys.executable).with_name("lit")), "-j1", "-sv", "--no-progress-bar", *lit])
        # Verbose: if a test ends the process, the last line names the test.
        options = ["-vv", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=short", "-p", "nearest_first"]
        options += ["--spend", str(spend_s), "--nearest-to", nearest_to]
        for (environment, _), together in groupby(sorted(python, key=_process_of), _process_of):
            if (interpreter := _interpreter(environment)).exists():
                commands.append([str(interpreter), "-m", "pytest", *options, *together])
        return commands

    def _run(self, command: Sequence[str], cpu_s: float) -> Run:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self._package), str(self.root / "tools" / "dev")]),
            "RELAX_MLIR_DRAW": "",  # all: the budget limits how many run, the nearest ones first
            "PYTHONDONTWRITEBYTECODE": "1",  # a changed file of the same size and second would not be noticed
        }
        code, output = watched.run(command, cwd=self.root, environment=environment, cpu_s=cpu_s, idle_s=_LONGEST_WAIT_S)
        return Run(code == 0, 0.0, output if code is not None else f"{output}\n{_WAITED}")

    def baseline(self, tests: Sequence[str]) -> Run:
        """Return the run of the unchanged tree."""
        key = tuple(tests)
        if key not in self._baselines:
            self._baselines[key] = self.run(tests, _LONGEST_CPU_S)
        return self._baselines[key]


def _process_of(test: str) -> tuple[str, str]:
    """Return the environment of a test and its folder. Tests of the core and of plug-ins share no process."""
    return environment_of(test), Path(test).parts[0]


def _interpreter(environment: str) -> Path:
    """Return the Python of an environment of tests."""
    return REPOSITORY / environment / "bin" / "python" if environment else Path(sys.executable)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Verdict(NamedTuple):
    noticed: bool
    by: str
    tests: list[str]
    cpu_s: float


def try_mutation(copy: Copy, file: str, mutation: Mutation, budget_s: float) -> Verdict:
    """Run the groups of mirrored tests until one notices the bug, or the budget is spent."""
    source = (REPOSITORY / file).read_bytes()
    line = mutation.line(source)
    ran: list[str] = []
    spent = 0.0
    for group in mirrored_tests(copy.root, file, line):
        left = list(group)
        while left and (not ran or spent < budget_s):
            (copy.root / file).write_bytes(mutation.applied(source))
            try:
                done = copy.run(left, max(budget_s - spent, 1), f"{file}:{line}")
            finally:
                (copy.root / file).write_bytes(source)
            spent += done.cpu_s
            if done.passed:
                ran += left
                break
            failing = _failing_test(done.output, left)
            if copy.baseline(failing).passed:
                return Verdict(True, _first_failure(done.output), [*ran, *failing], spent)
            # The test fails, or takes too long, without a bug.
            left = [test for test in left if not any(each.startswith(test) for each in failing)]
    return Verdict(False, "", ran, spent)


def _failing_test(output: str, tests: list[str]) -> list[str]:
    """Return the first test that failed or ended the process, or all of them if it is unknown."""
    failed = re.search(rf"^(?:FAILED|ERROR) ({_TEST})(?: - |$)|^FAIL: [\w-]+ :: (\S+)", output, re.MULTILINE)
    started = re.findall(rf"^({_TEST})(?: |$)", output, re.MULTILINE)
    name = (failed[1] or f"test/{failed[2]}") if failed else started[-1] if started else ""
    return [name] if any(name.startswith(test) for test in tests) else tests


def _first_failure(output: str) -> str:
    said = [line for line in output.splitlines() if line.strip()]
    named = [line for line in said if line.startswith(("FAILED", "ERROR", "FAIL:"))]
    # If no test runs because a common import is broken, the last line states the reason.
    last = " ".join(said[-1].split()) if said else "without a word"
    return (named or [f"it did not end, or died: {last}"])[0][:200]


def changed_files(base: str) -> list[str]:
    """Return product files that differ from the base."""
    return _listed("diff", "--name-only", "--diff-filter=d", base, "--")


def _listed(*command: str) -> list[str]:
    """Return the product files that a command of git lists."""
    listed = subprocess.run(["git", *command], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if _is_product(name)]


def _is_product(name: str) -> bool:
    path = Path(name)
    if path.suffix != ".py" or path.parts[0] not in PRODUCT or path.parts[:2] == ("tools", "dev"):
        return False
    return path.parts[0] != "plugins" or "/relax_mlir_" in name  # a plug-in's tests are no product


def draw(files: Sequence[str], sample: int, seed: int) -> list[tuple[str, Mutation]]:
    """Return mutations of all files, a sample of them (0: all), the same ones for the same seed."""
    found = [(file, each) for file in files for each in mutations_of((REPOSITORY / file).read_bytes())]
    if not sample or sample >= len(found):
        return found
    return random.Random(seed).sample(found, sample)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="mutants.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="product files; without any those that differ from --base")
    parser.add_argument("--base", default="main", help="a commit (main)")
    parser.add_argument("--all", action="store_true", help="the whole product")
    parser.add_argument("--sample", type=int, default=40, help="how many bugs, 0 for all (40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of CPU time for a bug's tests (120)")
    parser.add_argument("--list", action="store_true", help="print the bugs and the tests, run nothing")
    options = parser.parse_args(argv)
    files = _listed("ls-files") if options.all else options.files or changed_files(options.base)
    unknown = [name for name in files if not (REPOSITORY / name).is_file() or not _is_product(name)]
    if unknown:
        parser.error(f"{unknown[0]} is no Python file of the product ({', '.join(PRODUCT)})")
    chosen = draw(files, options.sample, options.seed)
    if not chosen:
        print("nothing to change: no product file was given, and none differs from the base")
        return 0
    if options.list:
        for file, mutation in chosen:
            source = (REPOSITORY / file).read_bytes()
            print(difference(file, source, mutation), mirrored_tests(REPOSITORY, file, mutation.line(source)))
        return 0
    goals = make_targets({test for each in chosen for test in _mirroring(*each)})
    if goals:
        subprocess.run(["make", *goals], cwd=REPOSITORY, check=True)
    with tempfile.TemporaryDirectory(prefix="relax-mutants-") as folder:
        return _report(Copy(Path(folder)), chosen, options.budget, options.seed)


def _mirroring(file: str, mutation: Mutation) -> list[str]:
    """Return the tests that mirror a bug."""
    groups = mirrored_tests(REPOSITORY, file, mutation.line((REPOSITORY / file).read_bytes()))
    return [test for group in groups for test in group]


def _report(copy: Copy, chosen: Sequence[tuple[str, Mutation]], budget_s: float, seed: int) -> int:
    missing = [each for each in ENVIRONMENTS.values() if not _interpreter(each).exists()]
    if missing:
        print(f"tests of these environments are left out, as they are not there: {', '.join(missing)}")
    noticed = untested = 0
    started = time.monotonic()
    for number, (file, mutation) in enumerate(chosen, 1):
        verdict = try_mutation(copy, file, mutation, budget_s)
        noticed += verdict.noticed
        shown = difference(file, (REPOSITORY / file).read_bytes(), mutation)
        if verdict.noticed:
            print(f"{number}/{len(chosen)} noticed in {verdict.cpu_s:.0f} s: {file}: {mutation.kind}: {verdict.by}")
        else:
            untested += not verdict.tests
            print(f"{number}/{len(chosen)} SURVIVED {' '.join(verdict.tests) or '(no test mirrors it)'}\n{shown}")
        sys.stdout.flush()
    share = 100 * noticed / len(chosen)
    print(
        f"seed {seed}: {noticed} of {len(chosen)} bugs noticed ({share:.0f} %), {untested} in files that no test "
        f"mirrors, {time.monotonic() - started:.0f} s"
    )
    return 0 if noticed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
