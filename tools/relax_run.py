# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run: runs a compiled program on files or random numbers, shows, keeps, times and compares what comes out.

Needs the runtime only, and numpy for arrays. Exit codes: 0, and 1 for any error. `run` works in process on given
streams, `main` is the command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from .opt.guard import run_guarded

_NAME = "relax-run"


def main() -> None:
    """The console script."""
    work = lambda: run(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)  # noqa: E731
    sys.exit(run_guarded(_NAME, work, blamed="the program"))


def run(
    argv: Sequence[str],
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Runs the tool on its arguments (without the program's name) and returns the exit code."""
    # Imported late, so that the guard has forked before anything large is loaded.
    from .command_line import reporting_errors
    from .run.driver import EXPECTED_ERRORS, Driver

    errors = stderr or sys.stderr
    driver = Driver(stdout or sys.stdout, errors)
    return reporting_errors(_NAME, lambda: driver.run(argv), errors, EXPECTED_ERRORS, "--traceback" in argv)


if __name__ == "__main__":
    main()
