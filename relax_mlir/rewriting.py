# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting: patterns in Python, drivers that apply them, conversions. `rx.rewriting.apply_greedy`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
