# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-compile: compiles a model, or a module of relax operators, to a program for relax-run and the runtime."""

from __future__ import annotations

from .common.tool import Tool

run = Tool("relax-compile", "..compile.start")
main = run.main

if __name__ == "__main__":
    main()
