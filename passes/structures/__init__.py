# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What PrimFuncs compute, whatever their values are called: structures that people write, found again in bodies."""
