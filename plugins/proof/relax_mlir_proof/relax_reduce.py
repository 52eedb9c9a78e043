# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-reduce: shrinks a module as long as a command still fails."""

from __future__ import annotations

from relax_mlir.tools.common.tool import Tool

run = Tool("relax-reduce", f"{__package__}.reduce.driver")
main = run.main

if __name__ == "__main__":
    main()
