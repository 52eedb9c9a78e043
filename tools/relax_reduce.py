# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-reduce: makes a module smaller as long as a command still fails.

Exit codes: 0, and 1 for any error. `run` works in process on given streams, `main` is the command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from .opt.guard import run_guarded

_NAME = "relax-reduce"


def main() -> None:
    """The console script."""
    sys.exit(run_guarded(_NAME, lambda: run(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)))


def run(
    argv: Sequence[str],
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Runs the tool on its arguments (without the program's name) and returns the exit code."""
    # Imported late, so that the guard has forked before MLIR is loaded.
    from ..support.errors import RelaxError
    from .command_line import reporting_errors
    from .reduce.options import parse

    errors = stderr or sys.stderr

    def work() -> int:
        arguments = parse(argv)
        from .reduce.driver import Driver

        return Driver(stdin or sys.stdin, stdout or sys.stdout, errors).run(arguments)

    return reporting_errors(_NAME, work, errors, [RelaxError], "--traceback" in argv)


if __name__ == "__main__":
    main()
