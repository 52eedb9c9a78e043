# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse."""

from __future__ import annotations

from collections.abc import Callable

from ..core.attributes import DType, Int
from ..core.infos import TensorInfo, bit_width, is_float, is_int
from ..core.opdef import Call
from ..core.symbols import equal
from .dialect import broadcast_op
from .infer.sizes import check_rank, normalize_axis


def _is_real(dtype: str) -> bool:
    return dtype in ("f16", "bf16", "f32")


def _is_quantized(dtype: str) -> bool:
    return (is_int(dtype) and bit_width(dtype) <= 16) or (is_float(dtype) and bit_width(dtype) <= 8)


def _is_zero_point(dtype: str) -> bool:
    return (is_int(dtype) and bit_width(dtype) <= 32) or (is_float(dtype) and bit_width(dtype) <= 16)


def _is_dequantizable(dtype: str) -> bool:
    return _is_zero_point(dtype) or _is_real(dtype)


_REAL = "f16, bf16 or f32"
_QUANTIZED = "integers of at most 16 bits or floats of at most 8"
_ZERO_POINT = "integers of at most 32 bits or floats of at most 16"


def quantize(call: Call) -> TensorInfo:
    _check_elements(call, "data", _is_real, _REAL)
    return _converted(call, _is_quantized, _QUANTIZED)


def dequantize(call: Call) -> TensorInfo:
    _check_elements(call, "data", _is_dequantizable, f"{_ZERO_POINT}, or f32")
    return _converted(call, _is_real, _REAL)


def _converted(call: Call, allowed: Callable[[str], bool], expected: str) -> TensorInfo:
    _check_elements(call, "scale", _is_real, _REAL)
    _check_elements(call, "zero_point", _is_zero_point, _ZERO_POINT)
    call.require(allowed(call.out_dtype), f"{call.describe('out_dtype')} must be {expected}")
    for name in ("scale", "zero_point"):
        check_rank(call, name, 0, 1)
    _check_sizes(call)
    return call.data.with_dtype(call.out_dtype)


def _check_elements(call: Call, name: str, allowed: Callable[[str], bool], expected: str) -> None:
    call.require(allowed(call.operands[name].dtype), f"{call.describe(name)} must have elements of {expected}")


def _check_sizes(call: Call) -> None:
    shape = call.data.shape
    if shape is None:
        return
    # A single number has no slices, so its scale and zero point are single numbers too.
    axis = normalize_axis(call, "axis", max(1, len(shape)), call.axis)
    slices = shape[axis] if shape else 1
    expected = "1 element" if slices == 1 else f"1 or {slices} elements"
    for name in ("scale", "zero_point"):
        sizes = call.operands[name].shape
        if sizes and equal(sizes[0], 1) is False and equal(sizes[0], slices) is False:
            data = call.describe("data")
            raise call.fail(f"{call.describe(name)} must have {expected}, as {data} has along axis {axis}")


_AXIS = Int(-1, doc="the axis that scales and zero points go along where there are several")

broadcast_op("quantize", "data scale zero_point", attrs={"axis": _AXIS, "out_dtype": DType("i8")},
   flops=5, infer=quantize,
   doc="round(data / scale) + zero_point, clipped to the result's range.")  # fmt: skip
broadcast_op("dequantize", "data scale zero_point", attrs={"axis": _AXIS, "out_dtype": DType("f32")},
   flops=2, infer=dequantize, doc="(data - zero_point) * scale.")  # fmt: skip
