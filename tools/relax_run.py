# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run: runs a compiled program on files or random numbers, shows, keeps, times and compares what comes out.

Needs the runtime only, and numpy for arrays.
"""

from __future__ import annotations

from .common.tool import Tool

run = Tool("relax-run", "run.driver", blamed="the program")
main = run.main

if __name__ == "__main__":
    main()
