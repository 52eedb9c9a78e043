# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic and comparison of dynamic sizes. `rx.symbols.equal`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
