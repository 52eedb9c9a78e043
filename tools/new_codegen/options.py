# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""Options of relax-new-codegen."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one

_PACKAGE = "Package"

OPTIONS: dict[str, Option] = {
    "o": Option("text", _PACKAGE, "new or empty folder for the package; default ./<name>", "folder"),
    "quantized": Option("flag", _PACKAGE, "write a codegen for int8 layers instead of f32 layers", default=False),
    "process": Option("flag", _PACKAGE, "run the unit in a separate process, like a board behind a socket: write its server and the program's connection", default=False),
    "target": Option("flag", _PACKAGE, "also write a target with a rule, for operators outside of the parts", default=False),
    "operator": Option("flag", _PACKAGE, "also write a dialect with an operator: its row, reference, rule and pattern", default=False),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-new-codegen: writes an installable package of a codegen, with its runtime, tests and pages",
    "",
    "usage: relax-new-codegen [options] <name>",
    "",
    "  relax-new-codegen mynpu",
    "  cd mynpu && pip install -e '.[test]' && make test",
    "  relax-new-codegen mynpu && make -C mynpu fresh        (tested in an environment of its own)",
    "",
    "It takes dense layers at once, --quantized linear layers and convolutions of int8, and numpy stands for the hardware,",
    "with --process behind a socket: replace that, then the patterns.",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the command line. Raise RelaxError that names the wrong argument."""
    return parse_one(argv, OPTIONS, "the codegen's name", _check)


def _check(arguments: Arguments) -> None:
    name = arguments.files[0]
    if not (name.isascii() and name.isidentifier() and name == name.lower()) or keyword.iskeyword(name):
        raise OptionError(f"a codegen's name must be a Python identifier in lower case, such as mynpu, got '{name}'")
