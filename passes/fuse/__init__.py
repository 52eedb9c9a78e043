# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operator fusion: which calls of PrimFuncs belong together, and the PrimFunc that does the work of all of them."""
