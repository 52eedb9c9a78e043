# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tool: its work by itself, on given streams, or as a command that no crash inside of MLIR takes down."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TextIO

from .guard import run_guarded


class Tool:
    """Exit codes: 0, and 1 for any error. Calling it works in process, `main` is the console script."""

    def __init__(
        self, name: str, start: Callable[[Sequence[str], TextIO, TextIO, TextIO], int], *, blamed: str = "MLIR"
    ) -> None:
        """`start` gets the arguments and the standard streams, and imports late what is large: the guard forks before.

        It raises RelaxError; `blamed` is what may crash.
        """
        self._name, self._start, self._blamed = name, start, blamed

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
        from .command_line import reporting_errors

        errors = stderr or sys.stderr
        work = partial(self._start, argv, stdin or sys.stdin, stdout or sys.stdout, errors)
        return reporting_errors(self._name, work, errors, "--traceback" in argv)
