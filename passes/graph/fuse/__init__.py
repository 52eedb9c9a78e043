# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operator fusion: grouping of PrimFunc calls, and the fused PrimFunc of each group."""
