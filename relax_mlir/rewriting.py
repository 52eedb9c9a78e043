# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite patterns in Python, drivers that apply patterns, and conversions. `rx.rewriting.apply_greedy`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
