# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding of subgraphs: detection of constant values, and their evaluation."""
