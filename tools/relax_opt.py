# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-opt: mlir-opt with this project's dialects and passes. A thin user of the Python API."""

from __future__ import annotations

from .common.tool import Tool

run = Tool("relax-opt", "..opt.driver")
main = run.main

if __name__ == "__main__":
    main()
