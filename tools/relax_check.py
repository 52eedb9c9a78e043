# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-check: checks a codegen or a target case by case, and reports faults."""

from __future__ import annotations

from .common.tool import Tool

run = Tool("relax-check", "check.driver")
main = run.main

if __name__ == "__main__":
    main()
