# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that quantize and dequantize. The front end converts the inputs and results of all nodes already."""

from __future__ import annotations

from ..prelude import Outputs, TfliteNode, Value, cast, register_rows, register_tflite

register_rows({"QUANTIZE": lambda node: node.tensor(0), "DENSIFY": lambda node: node.stored(0)})


@register_tflite("DEQUANTIZE")
def dequantize(node: TfliteNode) -> Outputs:
    """Convert DEQUANTIZE, which also widens floats of 16 bits."""
    if (array := node.value(0).array) is not None and array.dtype.kind == "f":
        return Value(array=array.astype("float32"))
    return cast(node.tensor(0), "f32")
