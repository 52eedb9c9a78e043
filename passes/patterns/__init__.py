# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of graph parts as immutable trees, their matching, and rewriting by patterns."""
