# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes for rx.quantize. `from relax_mlir.recipes import Fixed, Float, Op, Share, Tensor`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
