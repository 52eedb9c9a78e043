# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per option reads best
"""relax-lsp: a language server for MLIR files with relax and tir operators.

It loads no MLIR itself, so it needs no guard.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from relax_mlir import __version__
from relax_mlir.support.errors import RelaxError
from relax_mlir.tools.common.command_line import COMMON_OPTIONS, Option, parse_arguments
from relax_mlir.tools.common.tool import Tool
from relax_mlir.tools.opt.information import shows_information

OPTIONS: dict[str, Option] = {
    "stdio": Option("flag", "Server", "no effect, accepted from editors: the server always uses standard input and output", default=False),
    "load-plugin": Option("list", "Server", "import this Python module or file first; the dialects that it registers are known then", "module"),
    **COMMON_OPTIONS,
}  # fmt: skip

HELP_HEAD = (
    "relax-lsp: informs editors about MLIR files with relax and tir operators, by the language server protocol",
    "",
    "usage: relax-lsp [options]        (an editor starts it)",
)


def start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    arguments = parse_arguments(argv, OPTIONS)
    if arguments.files:
        raise RelaxError(f"relax-lsp takes no files, its editor names them; got {', '.join(arguments.files)}")
    if shows_information(arguments, stdout, "relax-lsp", HELP_HEAD, OPTIONS, has_mlir=False):
        return 0
    try:
        from .server import serve
    except ModuleNotFoundError as error:
        raise RelaxError(f"relax-lsp needs {error.name}: pip install 'relax-mlir[lsp]'") from None
    serve(__version__, arguments["load-plugin"] or ())
    return 0


run = Tool("relax-lsp", "relax_mlir_lsp.tool")


def main() -> None:
    """Run the console script."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
