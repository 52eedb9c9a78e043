# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion between stored integers and the real numbers that they represent.

Operators compute with real numbers. A pass replaces that computation by integer arithmetic
(passes/graph/relax_propagate_quantization.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import relax
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.core.tensors import cast, const, info_of
from relax_mlir.frontends.core.values import Tensor, Value

from .tflite_file import Quantization, TensorRow

_WIDE = ("i32", "i64")
#: Largest absolute value of a zero point. Integers with zero points have at most 16 bits.
_FARTHEST = 2**15


def dequantized(value: Value, quantization: Quantization, what: str) -> Value:
    """Return the real numbers that a quantized tensor represents.

    Constants of wide integers, such as biases, and constants of one element become floats at import.
    """
    _check(quantization, value.shape or (), what)
    scale, zero_point = quantization.scale, quantization.zero_point
    if value.array is not None and (value.dtype in _WIDE or value.array.size == 1):
        import numpy

        shape = [1] * value.array.ndim
        if len(scale) > 1:
            shape[quantization.axis] = len(scale)
        factor, zero = (numpy.array(each).reshape(shape if len(each) > 1 else ()) for each in (scale, zero_point))
        return Value(array=((value.array.astype("float64") - zero) * factor).astype("float32"))
    if value.dtype == "i64":
        raise Unsupported(f"{what} is quantized in 64 bits, which only constants can be")
    return Value(
        ssa=relax.dequantize(value.ssa, *_constants(quantization, value.dtype), axis=quantization.axis, out_dtype="f32")
    )


def quantized(tensor: Tensor, row: TensorRow) -> Tensor:
    """Quantize real numbers to the element type of a tensor of the file."""
    quantization = row.quantization
    assert quantization is not None
    _check(quantization, info_of(tensor).shape or (), f"result '{row.name}'")
    real = cast(tensor, "f32")
    constants = _constants(quantization, row.dtype)
    return relax.quantize(real, *constants, axis=quantization.axis, out_dtype=row.dtype)


def _constants(quantization: Quantization, dtype: str) -> tuple[Tensor, Tensor]:
    return const(_single(quantization.scale), "f32"), const(_single(quantization.zero_point), dtype)


def _single(numbers: Sequence[float]) -> float | list[float]:
    return numbers[0] if len(numbers) == 1 else list(numbers)


def _check(quantization: Quantization, shape: Sequence[object], what: str) -> None:
    counts = {len(quantization.scale), len(quantization.zero_point)} - {1}
    if any(abs(each) > _FARTHEST for each in quantization.zero_point):
        raise Unsupported(f"{what} has zero points that are out of range for its type")
    if not counts:
        return
    axis = quantization.axis
    if len(counts) > 1 or not 0 <= axis < len(shape) or shape[axis] not in counts:
        raise Unsupported(f"{what} has scales and zero points that do not match its size along axis {axis}")
