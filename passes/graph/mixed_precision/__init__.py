# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixed precision: operators in 16 bits, and functions of f32 and 16-bit floats."""
