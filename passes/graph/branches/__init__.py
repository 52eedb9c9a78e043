# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Concurrency between operators: independent parts of graphs that threads execute in parallel."""
