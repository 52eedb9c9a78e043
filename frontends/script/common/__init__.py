# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of graphs and tensor programs as scripts: their source text, and the pieces in which it is parsed."""
