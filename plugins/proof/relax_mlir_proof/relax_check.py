# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-check: checks a codegen or a target case by case, and reports faults."""

from __future__ import annotations

from relax_mlir.tools.common.tool import Tool

run = Tool("relax-check", f"{__package__}.check.driver")
main = run.main

if __name__ == "__main__":
    main()
