# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts that are IR, `@I.ir_module(ssa=True)`: the output of dialects/script, read back as the same operations."""
