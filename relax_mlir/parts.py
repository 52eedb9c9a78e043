# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flat operator graphs of a part's functions, and tables of conversion rules. `rx.parts.public_functions`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
