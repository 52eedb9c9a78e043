# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expansions of tir's intrinsics for llvm: polynomials on reduced ranges, and calls of the C library."""
