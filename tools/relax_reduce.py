# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-reduce: makes a module smaller as long as a command still fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from .tool import Tool


def _start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    from .reduce.options import parse

    arguments = parse(argv)
    from .reduce.driver import Driver

    return Driver(stdin, stdout, stderr).run(arguments)


run = Tool("relax-reduce", _start)
main = run.main

if __name__ == "__main__":
    main()
