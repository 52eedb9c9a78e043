# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules out of TVMScript: Python's syntax read as the language of graphs and tensor programs, never run."""
