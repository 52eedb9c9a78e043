# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-quantize: quantizes a model by the recipe of a codegen or a target."""

from __future__ import annotations

from relax_mlir.tools.common.tool import Tool

run = Tool("relax-quantize", "relax_mlir_quantize.command_line.driver")
main = run.main

if __name__ == "__main__":
    main()
