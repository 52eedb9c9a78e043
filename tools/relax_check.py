# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-check: proves a codegen or a target right, case by case, or says what is wrong with it."""

from __future__ import annotations

from .common.tool import Tool

run = Tool("relax-check", "check.driver")
main = run.main

if __name__ == "__main__":
    main()
