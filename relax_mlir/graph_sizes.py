# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of tensors in imported graphs, known at import or at run time. `rx.graph_sizes.plus`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
