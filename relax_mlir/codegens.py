# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External codegens: what takes parts of a model, and runs them. `rx.codegens.Codegen`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
