# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile the tests of StableHLO's interpreter, call their functions, and compare with the known failures.

With --break the first expected constant of each test is changed: then every test has to fail.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import case_results
import upstream_tests
from generated import ROOT

LIST = ROOT / "plugins" / "jax" / "test" / "interpret_not_passing.txt"
UPSTREAM = "the repository openxla/stablehlo, folder stablehlo/tests/interpret"
_HEADER = """\
# Tests of StableHLO's interpreter that do not pass, and why: file/function, or a pattern.
# `suite.py stablehlo-interpret` compares this list with a run. It only shrinks.
"""
_CHECK = re.compile(r"^[ \t]*check\.(\w+)\s+(%[\w#]+)\s*,\s*(.*?)\s*:\s*((?:tensor<|\()[^\n]*)$", re.M | re.S)
_FUNCTION = re.compile(r"func\.func (?:public )?@(\w+)\(\)")
_NUMBER = re.compile(r"true|false|-?\d+(?:\.\d+)?")


def pieces_of(path: Path) -> Iterator[tuple[str, str]]:
    """Return the modules of a file that check something, by their names: file/function."""
    seen: dict[str, int] = {}
    for text in re.split(r"^// -----.*$", path.read_text("utf-8"), flags=re.M):
        if "check." not in text:
            continue
        found = re.search(r"@(\w+)", text[text.find("func.func") :])
        name = f"{path.name}/{found[1] if found else 'module'}"
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}-{seen[name]}"), text


def in_generic_form(text: str) -> str:
    """Write the operations of the dialect check, which the bindings lack, in MLIR's generic form."""
    count = 0

    def rewritten(found: re.Match[str]) -> str:
        nonlocal count
        name, operand, expected, types = found[1], found[2], found[3], found[4]
        type_ = types.split(", tensor")[0].split("//")[0].rstrip()
        constant, attributes = "", ""
        if name.endswith("_const"):
            count += 1
            constant, expected = f"%expected_{count} = stablehlo.constant {expected} : {type_}\n", f"%expected_{count}"
            name = name.removesuffix("_const")
        elif "," in expected:
            expected, _, rest = expected.partition(",")
            attributes = f" {{{rest.strip()}}}"
        return f'{constant}"check.{name}"({operand}, {expected}){attributes} : ({type_}, {type_}) -> ()'

    return _CHECK.sub(rewritten, text)


def broken(text: str) -> str:
    """Change the first number of the first expected constant."""

    def changed(found: re.Match[str]) -> str:
        number = _NUMBER.search(found[2])
        if number is None:
            return found[0]
        other = {"true": "false", "false": "true", "0": "1"}.get(number[0])
        if other is None:
            other = "1.0" if "." in number[0] and not float(number[0]) else "0.0" if "." in number[0] else "0"
        return found[1] + found[2][: number.start()] + other + found[2][number.end() :]

    return re.sub(r"(%expected_\d+ = stablehlo\.constant dense<)([^>]*)", changed, text, count=1)


def _answering() -> Callable[[str], tuple[str, str]]:
    """Return a worker's function, which compiles a module's text and calls its functions without arguments."""
    import relax_mlir as rx

    def check(text: str) -> tuple[str, str]:
        try:
            executable = rx.compile(rx.from_stablehlo(text), jobs=1)
            for name in _FUNCTION.findall(text):
                executable[name]()
        except Exception as error:  # defects may raise any error
            return "failed", case_results.reason_of(error)
        return "passed", ""

    return check


def main() -> int:
    parser = argparse.ArgumentParser(prog="stablehlo_interpret.py", description=__doc__)
    upstream_tests.add_options(parser)
    parser.add_argument("--break", dest="is_broken", action="store_true", help="change what is expected: all must fail")
    options = parser.parse_args()
    folder = upstream_tests.folder_of(options.tests, "stablehlo_interpret", UPSTREAM)
    if isinstance(folder, str):
        parser.error(folder)
    pieces = {name: in_generic_form(text) for path in sorted(folder.rglob("*.mlir")) for name, text in pieces_of(path)}
    chosen = {name: text for name, text in pieces.items() if upstream_tests.is_drawn(name, options)}
    if options.is_broken:
        chosen = {name: changed for name, text in chosen.items() if (changed := broken(text)) != text}
    if not chosen:
        parser.error(f"no tests in {folder} for --only {options.only}, --share {options.share}")
    with tempfile.TemporaryDirectory() as cache:
        # No stale program helps a case, and the user's own cache stays unchanged.
        os.environ["RELAX_MLIR_CACHE"] = cache
        results = case_results.run_all(chosen, _answering, options.jobs, options.limit)
    if not options.is_broken:
        return upstream_tests.finish(results, LIST, _HEADER, options.write)
    upstream_tests.show(results)
    unnoticed = [each.name for each in results if each.status == "passed"]
    for name in unnoticed:
        print(f"error: {name} passes with another expected constant")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
