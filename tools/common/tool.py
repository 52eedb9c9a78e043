# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tool: its work by itself, on given streams, or as a command that no crash inside of MLIR takes down."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

from .guard import run_guarded


class Tool:
    """Exit codes: 0, and 1 for any error. Calling it works in process, `main` is the console script."""

    def __init__(self, name: str, module: str, *, blamed: str = "MLIR") -> None:
        """`start` of the module gets the arguments and the standard streams. It raises RelaxError.

        What is large is imported late: the guard forks before. `blamed` is what may crash.
        """
        self._name, self._module, self._blamed = name, module, blamed

    def main(self) -> None:
        """Ends the process."""
        sys.exit(run_guarded(self._name, lambda: self(sys.argv[1:]), blamed=self._blamed))

    def __call__(
        self,
        argv: Sequence[str],
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> int:
        """Runs the tool on its arguments (without the program's name) and returns the exit code."""
        from ...support.processes.expendable import expendable
        from .command_line import reporting_errors

        errors = stderr or sys.stderr

        def work() -> int:
            start = import_module(f"..{self._module}", __package__).start
            with expendable():
                return int(start(argv, stdin or sys.stdin, stdout or sys.stdout, errors))

        return reporting_errors(self._name, work, errors, "--traceback" in argv)
