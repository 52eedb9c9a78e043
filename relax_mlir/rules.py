# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of operators: code for a target, gradients, definitions, layouts. `rx.rules.register_gradient`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
