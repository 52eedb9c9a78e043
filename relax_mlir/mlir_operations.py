# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's classes, and facts about operations, functions and blocks. `rx.mlir_operations.body_of`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
