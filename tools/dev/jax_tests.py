# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run jax's own tests on the platform relax, each file in processes that may die, and compare with the known failures.

Tests run as on CPUs: the platform lowers functions like jax for CPUs.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import case_results
import unittest_cases
import upstream_tests
from case_results import CaseResult
from generated import ROOT
from worker_process import Ended, WorkerProcess, in_threads

LIST = ROOT / "test" / "with_jax" / "tests_not_passing.txt"
UPSTREAM = "the repository jax-ml/jax at the tag of the installed jax, folder tests"
_HEADER = """\
# Tests of jax that do not pass on the platform relax, and why: file.class.test, or a pattern.
# A file of which all tests are listed, file.*, does not run. `suite.py jax-tests` compares this list with a run.
"""
_LONGEST = 200
_REPORTED_EVERY = 30.0
#: Tests are limited by processor time. A test that waits for ever is ended after so many times the limit.
_PATIENCE = 60


def _answering(folder: str, file: str, seconds: int) -> Callable[[str], Any]:
    """Return a worker's function that answers with the names of a file's tests, or with the outcome of one."""
    unittest_cases.hide_output()
    sys.path.insert(0, folder)
    sys.argv = ["jax-tests"]
    try:
        import jax

        jax.config.parse_flags_with_absl()
        from jax._src import test_util

        test_util.device_under_test = lambda: "cpu"
        jax.devices()  # ready before the time of a test begins
        tests = unittest_cases.cases_of(importlib.import_module(file))
    except (Exception, SystemExit, unittest.SkipTest) as error:  # modules may raise any error
        problem = f"cannot be loaded: {type(error).__name__}: {error}".replace("\n", " ")[:_LONGEST]
        return lambda name: problem if not name else ("failed", problem)
    return lambda name: unittest_cases.outcome(tests[name], seconds) if name else list(tests)


def run_all(files: list[str], folder: Path, options: argparse.Namespace) -> list[CaseResult]:
    """Run the drawn tests of all files. A file has a worker of its own."""
    results: dict[str, CaseResult] = {}
    last = time.monotonic()

    def serve(taken: Iterator[str]) -> None:
        nonlocal last
        for file in taken:
            make = functools.partial(_answering, str(folder), file, int(options.limit))
            worker = WorkerProcess(make, _PATIENCE * options.limit)
            for each in _of_file(file, worker, options):
                results[each.name] = each
                if each.status in ("failed", "crashed"):
                    print(f"{each.name} {each.status}: {each.reason}", file=sys.stderr, flush=True)
                if time.monotonic() - last > _REPORTED_EVERY:
                    last = time.monotonic()
                    print(f"{len(results)} tests, {file}", file=sys.stderr, flush=True)
            worker.stop()

    in_threads(files, options.jobs, serve)
    return [results[name] for name in sorted(results)]


def _of_file(file: str, worker: WorkerProcess, options: argparse.Namespace) -> Iterator[CaseResult]:
    try:
        names = worker.ask("")
    except Ended as end:
        names = f"cannot be loaded: {end}"
    if isinstance(names, str):
        yield CaseResult(f"{file}.*", "failed", names, 0.0)
        return
    for name in names:
        if upstream_tests.is_drawn(name, options):
            yield case_results.result_of(name, name, worker)


def files_of(folder: Path, options: argparse.Namespace) -> list[str]:
    """Return the files to run, without files that the list excludes or in which --only selects nothing."""
    listed = upstream_tests.known_failures.read(LIST)
    names = [path.stem for path in sorted(folder.glob("*_test.py"))]
    firsts = {each.split(".")[0] for each in options.only}
    chosen = [name for name in names if not firsts or any(upstream_tests.fnmatchcase(name, each) for each in firsts)]
    return [name for name in chosen if f"{name}.*" not in listed or firsts]


def main() -> int:
    parser = argparse.ArgumentParser(prog="jax_tests.py", description=__doc__)
    upstream_tests.add_options(parser)
    options = parser.parse_args()
    folder = upstream_tests.folder_of(options.tests, "jax", UPSTREAM)
    if isinstance(folder, str):
        parser.error(folder)
    files = files_of(folder, options)
    if not files:
        parser.error(f"no files of tests in {folder} for --only {options.only}")
    os.environ.update(JAX_PLATFORMS="relax,cpu", JAX_SKIP_SLOW_TESTS="1")
    os.environ.setdefault("RELAX_JAX_OPT_LEVEL", "0")  # optimization is tested elsewhere
    with tempfile.TemporaryDirectory() as cache:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = cache
        results = run_all(files, folder, options)
    return upstream_tests.finish(results, LIST, _HEADER, options.write)


if __name__ == "__main__":
    sys.exit(main())
