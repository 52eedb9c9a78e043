# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of the model front ends: nodes, values, sizes, control flow, and collected problems."""
