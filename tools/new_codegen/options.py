# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-new-codegen's options."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from ...support.errors import OptionError
from ..common.command_line import COMMON_OPTIONS, Arguments, Option, parse_one

_PACKAGE = "Package"

OPTIONS: dict[str, Option] = {
    "o": Option("text", _PACKAGE, "the folder to write, which is new or empty; ./<name> is the default", "folder"),
    "quantized": Option("flag", _PACKAGE, "a codegen of quantized layers, int8, in place of layers of f32", default=False),
    "process": Option("flag", _PACKAGE, "the unit in a process of its own, as a board behind a socket: its server, and the program's connection", default=False),
    "target": Option("flag", _PACKAGE, "also a target of that name, with a rule of its own, for what it compiles besides the parts", default=False),
    "operator": Option("flag", _PACKAGE, "also a dialect with an operator of its own: its row, its meaning, its rule and its pattern", default=False),
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
    """Raises RelaxError that names the argument at fault."""
    return parse_one(argv, OPTIONS, "the codegen's name", _check)


def _check(arguments: Arguments) -> None:
    name = arguments.files[0]
    if not (name.isascii() and name.isidentifier() and name == name.lower()) or keyword.iskeyword(name):
        raise OptionError(f"a codegen's name is a word of Python in small letters, as mynpu, not '{name}'")
