# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-lsp's options."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.errors import RelaxError
from ..command_line import COMMON_OPTIONS, Arguments, Option, parse_arguments

OPTIONS: dict[str, Option] = {
    "stdio": Option("flag", "Server", "changes nothing, for editors that pass it: standard input and output are what is spoken on", default=False),
    "load-plugin": Option("list", "Server", "import this Python module or file first; the dialects that it registers are known then", "module"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-lsp: tells editors about MLIR files with relax and tir operators, by the language server protocol",
    "",
    "usage: relax-lsp [options]        (an editor starts it)",
)


def parse(argv: Sequence[str]) -> Arguments:
    """Raises RelaxError that names the argument at fault."""
    arguments = parse_arguments(argv, OPTIONS)
    if arguments.files:
        raise RelaxError(f"relax-lsp takes no files, its editor names them; got {', '.join(arguments.files)}")
    return arguments
