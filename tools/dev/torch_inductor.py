# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run torch's tests of Inductor for all devices, CommonTemplate, with torch.compile(backend="relax_mlir").

Tests that also fail with the backend aot_eager are left out: they check Inductor's own code. All other failures are
compared with the list of failing tests.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import case_results
import unittest_cases
import upstream_tests
from case_results import CaseResult
from generated import ROOT
from worker_process import WorkerProcess, in_threads

LIST = ROOT / "test" / "pytorch" / "inductor_not_passing.txt"
FILE = "test_torchinductor.py"
UPSTREAM = "the repository pytorch/pytorch at the tag of the installed torch, folder test/inductor"
BACKEND, CONTROL = "relax_mlir", "aot_eager"
_TEMPLATE = "CommonTemplate"
_HEADER = """\
# Tests of Inductor's CommonTemplate that pass with the backend aot_eager and not with relax_mlir, and why.
# `suite.py torch-inductor` compares this list with a run.
"""
_TESTS = """
class CpuTests(TestCase):
    common = check_model
    device = "cpu"


copy_tests(CommonTemplate, CpuTests, "cpu")
"""
#: Tests are limited by processor time. A test that waits for ever is ended after so many times the limit.
_PATIENCE = 10


def _answering(folder: str, backend: str, seconds: float) -> Callable[[str], Any]:
    """Return a worker's answers: the names of the tests, or the outcome of one."""
    unittest_cases.hide_output()
    sys.path.insert(0, str(ROOT / "test" / "pytorch"))
    import torch

    torch.set_num_threads(1)
    importlib.import_module("native_libraries").declare()
    tests = unittest_cases.cases_of(_loaded(Path(folder) / FILE, backend))
    return lambda name: unittest_cases.outcome(tests[name], seconds) if name else list(tests)


def _loaded(path: Path, backend: str) -> types.ModuleType:
    """Return the module of the tests, which compile with a backend in the place of Inductor."""
    import torch

    tree = ast.parse(path.read_text())
    behind = [getattr(node, "name", "") for node in tree.body].index(_TEMPLATE) + 1
    # The file then creates tests of the template for the available devices.
    helpers = [node for node in tree.body[behind:] if not isinstance(node, ast.If)]
    tree.body = [*tree.body[:behind], *helpers, *ast.parse(_TESTS).body]
    _declare_missing_names(tree)
    module = types.ModuleType("inductor")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(tree, str(path), "exec"), module.__dict__)
    compiled, optimized = torch.compile, torch._dynamo.optimize
    inductor = getattr(module, "compile_fx", None)

    def chosen(given: Any) -> Any:
        return backend if given == "inductor" or given is inductor else given

    def compile_with(model: Any = None, *, backend: Any = "inductor", **given: Any) -> Any:
        kept = {name: given[name] for name in ("fullgraph", "dynamic", "disable") if name in given}
        return compiled(model, backend=chosen(backend), **kept)

    torch.compile = compile_with
    torch._dynamo.optimize = lambda backend="inductor", **given: optimized(chosen(backend), **given)
    module.__dict__["compile_fx"] = lambda graph, inputs, **given: torch._dynamo.lookup_backend(backend)(graph, inputs)
    return module


class _Absent:
    """Stand-in for a name that this torch lacks: as a decorator it changes nothing."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return given[0] if given and callable(given[0]) else self


def _declare_missing_names(tree: ast.Module) -> None:
    """Declare what the file imports from torch and this version of torch lacks: the file may be another version's."""
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith("torch"):
            continue
        try:
            module = importlib.import_module(str(node.module))
        except ImportError:
            module = sys.modules[str(node.module)] = types.ModuleType(str(node.module))
        for each in node.names:
            if not hasattr(module, each.name) and not _is_module(f"{node.module}.{each.name}"):
                setattr(module, each.name, _Absent())


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def run_all(folder: Path, options: argparse.Namespace) -> list[CaseResult]:
    """Run the drawn tests; a test that fails with the control as well is left out."""
    make = functools.partial(_answering, str(folder), seconds=options.limit)
    first = WorkerProcess(functools.partial(make, backend=BACKEND), _PATIENCE * options.limit)
    names = [name for name in first.ask("") if upstream_tests.is_drawn(name, options)]
    first.stop()
    results: dict[str, CaseResult] = {}

    def serve(taken: Iterator[str]) -> None:
        worker, control = (
            WorkerProcess(functools.partial(make, backend=each), _PATIENCE * options.limit)
            for each in (BACKEND, CONTROL)
        )
        for name in taken:
            found = case_results.result_of(name, name, worker)
            if found.status in ("failed", "crashed"):
                theirs = case_results.result_of(name, name, control)
                if theirs.status != "passed":
                    found = CaseResult(name, "left out", f"{CONTROL}: {theirs.reason}", found.seconds)
            results[name] = found
            if len(results) % 50 == 0:
                print(f"{len(results)} of {len(names)}", file=sys.stderr, flush=True)
        worker.stop()
        control.stop()

    in_threads(names, options.jobs, serve)
    return [results[name] for name in sorted(results)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="torch_inductor.py", description=__doc__)
    upstream_tests.add_options(parser)
    options = parser.parse_args()
    folder = upstream_tests.folder_of(options.tests, "inductor", UPSTREAM)
    if isinstance(folder, str):
        parser.error(folder)
    if not (folder / FILE).is_file():
        parser.error(f"no {FILE} in {folder}: TESTS names the folder that has it, {UPSTREAM}")
    with tempfile.TemporaryDirectory() as cache:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = cache
        results = run_all(folder, options)
    return upstream_tests.finish(results, LIST, _HEADER, options.write)


if __name__ == "__main__":
    sys.exit(main())
