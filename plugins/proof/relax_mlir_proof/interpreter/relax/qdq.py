# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse by ONNX's definition, in f32, and requantization by rx.Requantize."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.passes.evaluate.references import register_reference
from relax_mlir.support.requantization import FORMS, MOST_SHIFT, MULTIPLIER_TYPES, Multiplier, Requantize

from ..held_values import stored
from .element_types import limits
from .parameters import along_axis

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference("relax.quantize", stored=True)
def quantize(call: EvaluationCall, data: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray:
    """Compute round(data / scale) + zero_point, halves to even, clipped to the result's range. NaN becomes the integer
    0.

    A float result is rounded only once, by its type.
    """
    quotient = _real(data) / along_axis(_real(scale), call.axis, data)
    if is_float(call.out_dtype):
        shifted = quotient + along_axis(_real(zero_point), call.axis, data)
        return _saturate(shifted, call.out_dtype)
    # f64 represents all zero points, so the sums are exact.
    shifted = numpy.rint(quotient) + along_axis(zero_point.astype(float), call.axis, data)
    return numpy.nan_to_num(numpy.clip(shifted, *limits(call.out_dtype))).astype(int)


def _saturate(array: ndarray, dtype: str) -> ndarray:
    """Clamp numbers to the largest finite one."""
    import ml_dtypes

    most = float(ml_dtypes.finfo(stored(dtype)).max)
    return numpy.clip(array, -most, most)


@register_reference("relax.dequantize", stored=True)
def dequantize(call: EvaluationCall, data: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray:
    """Compute (data - zero_point) * scale. The difference of integers is exact before it becomes a float."""
    zero_point = along_axis(zero_point, call.axis, data)
    is_exact = _is_integer(data) and _is_integer(zero_point)
    exact = data.astype(numpy.int64) - zero_point.astype(numpy.int64) if is_exact else _real(data) - _real(zero_point)
    return _real(exact) * along_axis(_real(scale), call.axis, data)


def _real(array: ndarray) -> ndarray:
    """Convert to f32. Wide values in f64 stay unrounded."""
    return array if array.dtype == numpy.float64 else array.astype(numpy.float32)


def _is_integer(array: ndarray) -> bool:
    return "int" in array.dtype.name


@register_reference("relax.requantize", stored=True)
def requantize(
    call: EvaluationCall, data: ndarray, multiplier: ndarray, shift: ndarray, zero_point: ndarray
) -> ndarray:
    """Compute rx.Requantize.apply, with shifts limited to the range of `apply`."""
    spelling = next(spelling for spelling, form in FORMS.items() if form == call.form)
    how = Requantize(spelling, call.rounding, call.saturate, call.double_rounding)
    # Check the sizes as all operators do.
    for array in (multiplier, shift, zero_point):
        along_axis(array, call.axis, data)
    parameters = Multiplier(multiplier.astype(MULTIPLIER_TYPES[call.form]), shift.clip(-MOST_SHIFT, MOST_SHIFT))
    return how.apply(data, parameters, zero_point, call.out_dtype, axis=call.axis)
