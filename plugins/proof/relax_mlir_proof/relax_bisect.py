# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-bisect: finds the part, the pass or the kernel that makes a model's result wrong."""

from __future__ import annotations

from relax_mlir.tools.common.tool import Tool

run = Tool("relax-bisect", f"{__package__}.bisect.driver")
main = run.main

if __name__ == "__main__":
    main()
