# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planners, one per file, which choose among the matches of patterns."""
