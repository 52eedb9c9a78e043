# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-opt: mlir-opt with this project's dialects and passes. A thin user of the Python API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from .tool import Tool


def _start(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    from .opt.driver import Driver

    return Driver(stdin, stdout, stderr).run(argv)


run = Tool("relax-opt", _start)
main = run.main

if __name__ == "__main__":
    main()
