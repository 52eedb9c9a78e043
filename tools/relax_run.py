# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run: runs a compiled program on files or random numbers, and prints, stores, times or compares its results.

It needs only the runtime, and NumPy for arrays.
"""

from __future__ import annotations

from .common.tool import Tool

run = Tool("relax-run", "..run.driver", blamed="the program")
main = run.main

if __name__ == "__main__":
    main()
