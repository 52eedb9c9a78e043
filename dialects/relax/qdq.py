# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...support.requantization import FORMS, MULTIPLIER_TYPES, ROUNDINGS
from ..core.attributes import Bool, DType, Int, Str
from ..core.infos import DTYPE_BY_NAME, TensorInfo, bit_width, is_float, is_int
from ..core.opdef import Call
from ..core.symbols import equal
from .dialect import broadcast_op
from .infer.sizes import check_rank, normalize_axis


def _is_real(dtype: str) -> bool:
    return dtype in ("f16", "bf16", "f32")


def _is_scale(dtype: str) -> bool:
    return _is_real(dtype) or dtype == "f8E8M0FNU"


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
    return _infer_converted(call, _is_quantized, _QUANTIZED)


def dequantize(call: Call) -> TensorInfo:
    _check_elements(call, "data", _is_dequantizable, f"{_ZERO_POINT}, or f32")
    return _infer_converted(call, _is_real, _REAL)


def _infer_converted(call: Call, allowed: Callable[[str], bool], expected: str) -> TensorInfo:
    _check_elements(call, "scale", _is_scale, f"{_REAL}, or f8E8M0FNU")
    _check_elements(call, "zero_point", _is_zero_point, _ZERO_POINT)
    call.require(allowed(call.out_dtype), f"{call.describe('out_dtype')} must be {expected}")
    return _check_parameters(call, ("scale", "zero_point"))


def _check_parameters(call: Call, names: Sequence[str]) -> TensorInfo:
    """Check the shapes of the parameters, and return the type of the result."""
    for name in names:
        check_rank(call, name, 0, 1)
    _check_sizes(call, names)
    return call.data.with_dtype(call.out_dtype)


def _check_elements(call: Call, name: str, allowed: Callable[[str], bool], expected: str) -> None:
    call.require(allowed(call.operands[name].dtype), f"{call.describe(name)} must have elements of {expected}")


def _check_sizes(call: Call, names: Sequence[str]) -> None:
    if (shape := call.data.shape) is None:
        return
    # A single number has no slices, so its parameters are single numbers too.
    axis = normalize_axis(call, "axis", max(1, len(shape)), call.axis)
    slices = shape[axis] if shape else 1
    expected = "1 element" if slices == 1 else f"1 or {slices} elements"
    for name in names:
        sizes = call.operands[name].shape
        if sizes and equal(sizes[0], 1) is False and equal(sizes[0], slices) is False:
            data = call.describe("data")
            raise call.fail(f"{call.describe(name)} must have {expected}, as {data} has along axis {axis}")


def requantize(call: Call) -> TensorInfo:
    _check_elements(call, "data", "i32".__eq__, "i32")
    expected = DTYPE_BY_NAME[MULTIPLIER_TYPES[call.form]]
    _check_elements(call, "multiplier", expected.__eq__, f"{expected} for form '{call.form}'")
    _check_elements(call, "shift", "i32".__eq__, "i32")
    is_possible = is_int(call.out_dtype) and bit_width(call.out_dtype) in (2, 4, 8, 16, 32)
    call.require(is_possible, f"{call.describe('out_dtype')} must be an integer type of 2, 4, 8, 16 or 32 bits")
    types = (call.out_dtype, "i32")
    _check_elements(call, "zero_point", types.__contains__, " or ".join(dict.fromkeys(types)))
    is_possible = call.form == "q31" or not call.double_rounding
    call.require(is_possible, f"{call.describe('double_rounding')} needs form 'q31', got '{call.form}'")
    return _check_parameters(call, ("multiplier", "shift", "zero_point"))


_AXIS = Int(-1, doc="axis of several scales and zero points")

broadcast_op("quantize", "data scale zero_point", attrs={"axis": _AXIS, "out_dtype": DType("i8")},
   flops=5, infer=quantize,
   doc="round(data / scale) + zero_point, clipped to the result's range.")  # fmt: skip
broadcast_op("dequantize", "data scale zero_point", attrs={"axis": _AXIS, "out_dtype": DType("f32")},
   flops=2, infer=dequantize, doc="(data - zero_point) * scale.")  # fmt: skip
broadcast_op("requantize", "data multiplier shift zero_point", own=True, flops=5, infer=requantize,
   attrs={"axis": Int(-1, doc="axis of several multipliers, shifts and zero points"),
          "form": Str("float", tuple(FORMS.values()), "representation of the multiplier"),
          "rounding": Str("half_even", ROUNDINGS, "mode of the rounding"),
          "saturate": Bool(True, "clamp to the result's range, or keep the low bits"),
          "double_rounding": Bool(False, "two steps like gemmlowp, for form q31"),
          "out_dtype": DType("i8")},
   doc="round(data * multiplier / 2 ** (bits + shift)) + zero_point, as rx.Requantize.apply computes from i32 sums. "
   "bits is 31 for form q31, and 15 for q15. A shift below -31 or above 31 counts as the nearest limit. Form float "
   "ignores shift, and power_of_two ignores multiplier.")  # fmt: skip
