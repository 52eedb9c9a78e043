# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External codegens, which compile and run parts of a model. `rx.codegens.Codegen`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
