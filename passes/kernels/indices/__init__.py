# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simplification of the index expressions of structured operations by the ranges of their loops."""
