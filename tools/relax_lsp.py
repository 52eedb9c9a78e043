# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-lsp: a language server for MLIR files with relax and tir operators.

Exit codes: 0, and 1 for any error. It loads no MLIR itself, so it needs no guard.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from .. import __version__
from ..bindings.errors import RelaxError
from .command_line import Arguments, help_text, reporting_errors, write_text
from .completion import completion_script
from .lsp.options import HELP_HEAD, OPTIONS, parse

_NAME = "relax-lsp"


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


def run(
    argv: Sequence[str],
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Runs the tool on its arguments (without the program's name) and returns the exit code."""

    def work() -> int:
        arguments = parse(argv)
        if any(arguments[name] for name in ("help", "version", "print-completion")):
            write_text(stdout or sys.stdout, _information(arguments))
            return 0
        try:
            from .lsp.server import serve
        except ModuleNotFoundError as error:
            raise RelaxError(f"relax-lsp needs {error.name}: pip install 'relax-mlir[lsp]'") from None
        serve(__version__, arguments["load-plugin"] or ())
        return 0

    return reporting_errors(_NAME, work, stderr or sys.stderr, [RelaxError], "--traceback" in argv)


def _information(arguments: Arguments) -> str:
    """The text of --help and the like."""
    if arguments["help"]:
        return help_text(HELP_HEAD, OPTIONS)
    if arguments["version"]:
        return f"relax-mlir {__version__}\n"
    return completion_script(arguments["print-completion"], _NAME, OPTIONS)


if __name__ == "__main__":
    main()
