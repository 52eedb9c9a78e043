# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-compile: from a model, or a module of relax operators, to a program that relax-run and the runtime load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from .tool import Tool


def _start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    from .compile.start import start

    return start(argv, stdin, stdout, stderr)


run = Tool("relax-compile", _start)
main = run.main

if __name__ == "__main__":
    main()
