# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse, as ONNX has them: in f32, by which a quotient may be halfway between two numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ...dialects.core.infos import is_float
from ..held_values import stored
from ..registry import register_reference
from .element_types import limits
from .parameters import along_axis

if TYPE_CHECKING:
    from numpy import ndarray

    from ...passes.evaluate.registry import EvaluationCall


@register_reference("relax.quantize", stored=True)
def quantize(call: EvaluationCall, data: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray:
    """round(data / scale), halves to even, + zero_point, within the result's range; NaN is 0 in integers.

    Floats are not rounded before they become the result.
    """
    quotient = _real(data) / along_axis(_real(scale), call.axis, data)
    if is_float(call.out_dtype):
        shifted = quotient + along_axis(_real(zero_point), call.axis, data)
        return _saturated(shifted, call.out_dtype)
    # Sums are exact in f64, which has all zero points.
    shifted = numpy.rint(quotient) + along_axis(zero_point.astype(float), call.axis, data)
    return numpy.nan_to_num(numpy.clip(shifted, *limits(call.out_dtype))).astype(int)


def _saturated(array: ndarray, dtype: str) -> ndarray:
    """Numbers that are too large as the largest one."""
    import ml_dtypes

    most = float(ml_dtypes.finfo(stored(dtype)).max)
    return numpy.clip(array, -most, most)


@register_reference("relax.dequantize", stored=True)
def dequantize(call: EvaluationCall, data: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray:
    """(data - zero_point) * scale; the difference of integers is exact before it becomes a float."""
    zero_point = along_axis(zero_point, call.axis, data)
    is_exact = _is_integer(data) and _is_integer(zero_point)
    exact = data.astype(numpy.int64) - zero_point.astype(numpy.int64) if is_exact else _real(data) - _real(zero_point)
    return _real(exact) * along_axis(_real(scale), call.axis, data)


def _real(array: ndarray) -> ndarray:
    """As f32; what is held in f64, without any rounding, stays so."""
    return array if array.dtype == numpy.float64 else array.astype(numpy.float32)


def _is_integer(array: ndarray) -> bool:
    return "int" in array.dtype.name
