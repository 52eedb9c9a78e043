# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `blas`: OpenBLAS computes matrix products, which structure patterns find in PrimFuncs."""
