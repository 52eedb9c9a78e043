# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-new-codegen: writes a package of a codegen, complete with runtime, tests and pages."""

from __future__ import annotations

from .common.tool import Tool

run = Tool("relax-new-codegen", "..new_codegen.driver")
main = run.main

if __name__ == "__main__":
    main()
