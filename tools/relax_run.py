# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run: runs a compiled program on files or random numbers, shows, keeps, times and compares what comes out.

Needs the runtime only, and numpy for arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from .tool import Tool


def _start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    from .run.driver import Driver

    return Driver(stdout, stderr).run(argv)


run = Tool("relax-run", _start, blamed="the program")
main = run.main

if __name__ == "__main__":
    main()
