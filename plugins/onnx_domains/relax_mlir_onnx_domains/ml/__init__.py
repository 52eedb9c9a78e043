# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of ai.onnx.ml: classical models."""

from . import features, linear, trees

__all__ = ["features", "linear", "trees"]
