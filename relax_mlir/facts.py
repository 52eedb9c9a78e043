# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about operators and tensors: calls, types, layouts, windows and constants. `rx.facts.tensor_info`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
