# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of tensors in the graph: what operators make of them, which ones to choose, and conversions."""
