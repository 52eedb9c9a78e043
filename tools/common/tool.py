# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A command-line tool, callable in process on given streams, or as a command guarded against crashes of MLIR."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

from .guard import run_guarded


class Tool:
    """A tool with exit code 0, or 1 for any error. Calls run in process, `main` is the console script."""

    def __init__(self, name: str, module: str, *, blamed: str = "MLIR") -> None:
        """The module's `start` receives the arguments and the standard streams, and raises RelaxError.

        Large modules are imported late, after the guard has forked. `blamed` names the code that may crash.
        """
        self._name, self._module, self._blamed = name, module, blamed

    def main(self) -> None:
        """Run the tool as a command and end the process."""
        sys.exit(run_guarded(self._name, lambda: self(sys.argv[1:]), blamed=self._blamed))

    def __call__(
        self,
        argv: Sequence[str],
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> int:
        """Run the tool on its arguments, without the program's name. Return the exit code."""
        from ...support.processes.expendable import expendable
        from .command_line import reporting_errors

        errors = stderr or sys.stderr

        def work() -> int:
            start = import_module(self._module, __package__).start
            with expendable():
                return int(start(argv, stdin or sys.stdin, stdout or sys.stdout, errors))

        return reporting_errors(self._name, work, errors, "--traceback" in argv)
