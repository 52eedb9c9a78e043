# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding of subgraphs: which are constant, and their values."""
