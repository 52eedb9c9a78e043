# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scales and zero points of quantized tensors, and constants in quantized types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.passes.graph.recipes.recipe import Fixed, Tensor

from .ranges import NumberRange

if TYPE_CHECKING:
    from numpy import ndarray

#: Types of at most so many bits are computed in f32, which has all integers of 24 bits.
_F32_BITS = 16
#: Candidate ranges of weights, as shares of the whole range. The whole range comes first and wins ties.
_SHARES = tuple(1 - step / 40 for step in range(25))

#: Share of the integers that a bias may use, so that sums of products have the rest.
_MOST_OF_BIAS = 0.5


@dataclass(frozen=True, eq=False)
class Scale:
    """Scales and zero points of a tensor: 0-D, or one per slice along an axis."""

    type: OperandType
    scale: ndarray
    zero_point: ndarray
    axis: int = 0

    def quantized(self, array: ndarray) -> ndarray:
        """Return numbers in the quantized type, as relax.quantize computes them."""
        import numpy

        steps = array.astype(numpy.float32, copy=False) / self._align(self.scale, array)
        least, most = self.type.limits
        if not self.type.is_float:
            dtype = numpy.float32 if self.type.bits <= _F32_BITS else numpy.float64
            steps = numpy.rint(steps).astype(dtype, copy=False)
            steps += self._align(self.zero_point.astype(dtype), array)
        return numpy.clip(steps, least, most).astype(storage_dtype(self.type.dtype))

    def dequantized(self, numbers: ndarray) -> ndarray:
        """Return the real numbers of quantized ones."""
        import numpy

        real = numbers.astype(numpy.float32) - self._align(self.zero_point.astype(numpy.float32), numbers)
        return real * self._align(self.scale, numbers)

    def rounded(self, array: ndarray) -> ndarray:
        """Return the nearest real numbers that the type represents."""
        return self.dequantized(self.quantized(array))

    def _align(self, numbers: ndarray, array: ndarray) -> ndarray:
        if not numbers.ndim:
            return numbers
        shape = [1] * array.ndim
        shape[self.axis] = numbers.size
        return numbers.reshape(shape)


def scale_of_range(limits: NumberRange, type_: OperandType) -> Scale:
    """Return the scale and zero point with which a type represents a range that includes 0."""
    import numpy

    return scale_of_ranges(numpy.array(limits.least), numpy.array(limits.most), type_, 0)


def scale_of_ranges(least: ndarray, most: ndarray, type_: OperandType, axis: int) -> Scale:
    """Return scales for ranges, 0-D or one per slice along the axis."""
    import numpy

    low, high = type_.limits
    if type_.symmetric or type_.is_float:
        scale = numpy.maximum(abs(least), abs(most)).astype(float) / high
    else:
        scale = (most.astype(float) - least) / (high - low)
    # A slice of zeros has any scale. The smallest normal number keeps quotients finite.
    scale = numpy.where(scale > 0, numpy.maximum(scale, numpy.finfo(numpy.float32).tiny), 1.0)
    if type_.power_of_two:
        scale = 2.0 ** numpy.ceil(numpy.log2(scale) - 1e-9)
    scale = scale.astype(numpy.float32)
    if type_.symmetric or type_.is_float:
        zero = numpy.zeros(scale.shape)
    else:
        zero = numpy.clip(numpy.rint(low - least / scale.astype(float)), low, high)
    return Scale(type_, scale, zero.astype(storage_dtype(type_.dtype)), axis)


def scale_of_weights(
    weights: ndarray, type_: OperandType, axis: int, importance: ndarray | None = None, is_searched: bool = False
) -> Scale:
    """Return the scale of constant weights: one, or one per output channel, which `axis` counts.

    is_searched: choose ranges by the least squared error. importance: factors of the squared errors.
    """
    others = tuple(index for index in range(weights.ndim) if index != axis)
    if type_.granularity == "tensor":
        others, axis = tuple(range(weights.ndim)), 0
    import numpy

    least = numpy.minimum(weights.min(others), 0)
    most = numpy.maximum(weights.max(others), 0)
    if not is_searched:
        return scale_of_ranges(least, most, type_, axis)
    best = numpy.full(least.shape, numpy.inf)
    shares = numpy.ones(least.shape)
    for share in _SHARES:
        scale = scale_of_ranges(least * share, most * share, type_, axis)
        error = ((scale.rounded(weights) - weights) ** 2 * (1.0 if importance is None else importance)).sum(others)
        shares = numpy.where(error < best, share, shares)
        best = numpy.minimum(error, best)
    return scale_of_ranges(least * shares, most * shares, type_, axis)


def fixed_scale(entry: Fixed | Tensor, type_: OperandType, axis: int = 0) -> Scale:
    """Return the stated scale and zero point, or the scale of the stated range."""
    import numpy

    if isinstance(entry, Tensor) and entry.range is not None:
        limits = numpy.array(entry.range, float)
        least, most = numpy.minimum(limits[..., 0], 0), numpy.maximum(limits[..., 1], 0)
        return scale_of_ranges(least, most, type_, axis)
    zero = numpy.array(entry.zero, storage_dtype(type_.dtype))
    return Scale(type_, numpy.array(entry.scale, numpy.float32), zero, axis)


def scale_for_sums(x: Scale, w: Scale, bias: ndarray, type_: OperandType, axis: int) -> Scale:
    """Return the scale of w, larger if the bias would not fit its type with the product of the scales of x and w."""
    import numpy

    others = tuple(index for index in range(bias.ndim) if index != axis)
    most = abs(bias.astype(float)).max(others if w.scale.ndim else None)
    least = most / (type_.limits[1] * x.scale.astype(float) * _MOST_OF_BIAS)
    if (w.scale >= least).all():
        return w
    return Scale(w.type, numpy.maximum(w.scale, least).astype(numpy.float32), w.zero_point, w.axis)


def derived_scale(x: Scale, w: Scale, type_: OperandType, axis: int) -> Scale:
    """Return the scale of a bias: the product of the scales of x and w, without a zero point."""
    import numpy

    scale = (x.scale * w.scale).astype(numpy.float32)
    return Scale(type_, scale, numpy.zeros(scale.shape, storage_dtype(type_.dtype)), axis if scale.ndim else 0)
