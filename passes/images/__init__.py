# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of which each image of a batch goes through for itself."""
