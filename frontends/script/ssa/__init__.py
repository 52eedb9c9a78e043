# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts that are IR, `@I.ir_module(ssa=True)`: what dialects/script prints, read back as the same operations."""
