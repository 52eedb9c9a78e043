# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic in bodies of functions, for rules of intrinsics. `rx.emission.numbers`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
