# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conformance tests of codegens and targets. `rx.testing.check("mynpu")`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
