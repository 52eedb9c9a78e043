# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse."""

from __future__ import annotations

from ..core.attributes import DType, Int
from .dialect import op
from .infer.qdq import dequantize, quantize

_AXIS = Int(-1, doc="the axis that scales and zero points go along where there are several")

op("quantize", "data scale zero_point", attrs={"axis": _AXIS, "out_dtype": DType("i8")}, infer=quantize,
   doc="round(data / scale) + zero_point, clipped to the result's range.")  # fmt: skip
op("dequantize", "data scale zero_point", attrs={"axis": _AXIS, "out_dtype": DType("f32")}, infer=dequantize,
   doc="(data - zero_point) * scale.")  # fmt: skip
