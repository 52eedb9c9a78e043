# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes from kernels of memrefs and pointers to the dialect spirv."""
