# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planners, one each: which matches of patterns are taken."""
