# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes on relax graphs, each in a file with its name, and their parts in folders."""
