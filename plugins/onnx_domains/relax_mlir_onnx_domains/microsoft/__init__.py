# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft: operators of onnxruntime."""

from . import as_onnx, attention, experts, fused, linear_attention, packed, quantized, recurrent, tensors

__all__ = [
    "as_onnx",
    "attention",
    "experts",
    "fused",
    "linear_attention",
    "packed",
    "quantized",
    "recurrent",
    "tensors",
]
