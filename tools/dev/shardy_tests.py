# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run Shardy's executable tests: rx.shard divides their functions, ranks are threads, and jaxlib reads the files.

With --break a result of a device is changed: then every test has to fail.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import case_results
import upstream_tests
from generated import ROOT
from stablehlo_interpret import in_generic_form

FOLDER = ROOT / "plugins" / "shard" / "test"
LIST = FOLDER / "shardy_not_passing.txt"
UPSTREAM = "the repository openxla/shardy, folder shardy/dialect/sdy/transforms/export/test"
_HEADER = "# Shardy's executable tests that do not pass, and why: folder/file. It only shrinks.\n"


def _answering() -> Callable[[Any], tuple[str, str]]:
    """Return a worker's function, which runs a file."""
    sys.path.append(str(FOLDER))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from sdy_executables import run_test

    def check(question: tuple[str, str, bool]) -> tuple[str, str]:
        text, planner, is_broken = question
        try:
            run_test(text, planner, is_broken=is_broken)
        except Exception as error:  # defects may raise any error
            return "failed", case_results.reason_of(error)
        return "passed", ""

    return check


def main() -> int:
    parser = argparse.ArgumentParser(prog="shardy_tests.py", description=__doc__)
    upstream_tests.add_options(parser)
    parser.add_argument("--planner", default="shardy", choices=["rule", "shardy"])
    parser.add_argument("--break", dest="is_broken", action="store_true", help="change a result: all must fail")
    options = parser.parse_args()
    folder = upstream_tests.folder_of(options.tests, "shardy", UPSTREAM)
    if isinstance(folder, str):
        parser.error(folder)
    texts = {f"{path.parent.name}/{path.name}": path.read_text("utf-8") for path in sorted(folder.rglob("*.mlir"))}
    chosen = {
        name: (in_generic_form(text), options.planner, options.is_broken)
        for name, text in texts.items()
        if "interpreter.run_parallel" in text and upstream_tests.is_drawn(name, options)
    }
    if not chosen:
        parser.error(f"no tests in {folder} for --only {options.only}, --share {options.share}")
    with tempfile.TemporaryDirectory() as cache:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = cache
        results = case_results.run_all(chosen, _answering, options.jobs, options.limit)
    if not options.is_broken:
        return upstream_tests.finish(results, LIST, _HEADER, options.write)
    upstream_tests.show(results)
    return 1 if any(result.status == "passed" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
