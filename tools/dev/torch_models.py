# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile the model zoo of test/pytorch, each architecture in up to three ways, and compare results with eager mode.

The ways are from_torch with fixed sizes, from_torch with dynamic sizes, and torch.compile without fallback. Failures
are compared with the list of failing cases. A case is an architecture and a way: "timm swin_tiny/dynamic".
"""

from __future__ import annotations

import argparse
import functools
import importlib
import logging
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import case_results
import unittest_cases
import upstream_tests
from generated import ROOT

LIST = ROOT / "test" / "pytorch" / "models_not_passing.txt"
WAYS = ("static", "dynamic", "compile")
_HEADER = """\
# Architectures of the model zoo that do not pass, with the way and the reason: name/way, or a pattern.
# `suite.py torch-models` compares this list with a run.
"""
#: Seconds for a case: the largest model compiles for more than a minute on a busy machine.
_LIMIT = 600


def _answering() -> Callable[[tuple[str, str]], tuple[str, str]]:
    """Return a worker's answers: the outcome of an architecture in a way."""
    unittest_cases.hide_output()
    model_zoo = _loaded()
    import torch

    torch.set_num_threads(1)
    checks = importlib.import_module("model_checks")
    build = functools.lru_cache(maxsize=1)(model_zoo.built)

    def check(question: tuple[str, str]) -> tuple[str, str]:
        name, way = question
        try:
            with torch.no_grad():
                error = checks.WAYS[way](build(name))
        except Exception as problem:  # models, torch and defects may raise any error
            return "failed", case_results.reason_of(problem)
        if error is None:
            return "left out", "no dynamic sizes"
        return ("passed", "") if error < checks.TOLERANCE else ("failed", f"differs from eager mode by {error:.1e}")

    return check


def _loaded() -> Any:
    """Return the module of the zoo; its libraries warn and log while they are loaded."""
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    sys.path.insert(0, str(ROOT / "test" / "pytorch"))
    return importlib.import_module("model_zoo")


def main() -> int:
    parser = argparse.ArgumentParser(prog="torch_models.py", description=__doc__)
    upstream_tests.add_case_options(parser)
    parser.set_defaults(limit=_LIMIT)
    options = parser.parse_args()
    cases = {f"{name}/{way}": (name, way) for name in _loaded().ZOO for way in WAYS}
    chosen = {name: case for name, case in cases.items() if upstream_tests.is_drawn(name, options)}
    if not chosen:
        parser.error(f"no architectures for --only {options.only}, --share {options.share}")
    with tempfile.TemporaryDirectory() as cache:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = cache
        results = case_results.run_all(chosen, _answering, options.jobs, options.limit, reported_every=1)
    for way in WAYS:
        counts = Counter(each.status for each in results if each.name.endswith(f"/{way}"))
        print(f"{way}: {counts['passed']} of {counts.total() - counts['left out']} pass")
    return upstream_tests.finish(results, LIST, _HEADER, options.write)


if __name__ == "__main__":
    sys.exit(main())
