# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How llvm says tir's intrinsics: by polynomials on reduced ranges, and by the C library's functions."""
