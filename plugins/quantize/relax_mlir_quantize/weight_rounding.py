# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounding of weights that change in training: their scales follow the largest magnitudes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.dialects.relax.known_constants import floats_of
from relax_mlir.dialects.relax.values import dtype_of

from .placement import Layer
from .scales import Scale
from .weight_blocks import Blocks

if TYPE_CHECKING:
    from numpy import ndarray

#: Least magnitude that scales follow. Weights of zeros have any scale.
_LEAST = 1e-30


@dataclass(frozen=True, eq=False)
class WeightRounding:
    """Rounding of one constant, with the scales that its calibrated values have."""

    value: Value
    how: Scale | Blocks
    #: Scale per largest magnitude. It keeps the share of the range that the calibration chose.
    ratio: ndarray

    @classmethod
    def of(cls, layer: Layer, name: str, how: Scale | Blocks) -> WeightRounding:
        import numpy

        value = layer.match[name]
        # Training begins with the codes of blocks, which need not be the nearest ones.
        elements = how.rounded() if isinstance(how, Blocks) else _elements(value)
        most = _largest(_rows(elements, how), how)
        scale = how.scale.reshape(most.shape)
        least, high = _limits(how)
        ratio = numpy.where(most > _LEAST, scale / numpy.maximum(most, _LEAST), 1 / (high - least))
        return cls(value, how, ratio.astype(numpy.float32))

    @property
    def _is_fixed(self) -> bool:
        return self.how.type.power_of_two

    def quantization(self) -> Scale | Blocks:
        """Return the scales of the constant's present values, or its blocks."""
        import numpy

        how, elements = self.how, _elements(self.value)
        rows = _rows(elements, how)
        scale = how.scale.reshape(self.ratio.shape)
        if not self._is_fixed:
            scale = numpy.maximum(_largest(rows, how), numpy.float32(_LEAST)) * self.ratio
        if isinstance(how, Scale):
            return Scale(how.type, scale, how.zero_point, how.axis)
        least, most = _limits(how)
        codes = numpy.clip(numpy.rint(rows / scale[:, None]) + _zero_points(how)[:, None].astype("f4"), least, most)
        depth, columns = elements.shape
        codes = codes.reshape(columns, -1)[:, :depth].astype(numpy.uint8)
        return Blocks(how.type, codes, scale.reshape(how.scale.shape), how.zero_point)

    def rounded(self, value: Value) -> Value:
        """Return the rounded weights, computed at the insertion point. Gradients pass straight through."""
        if isinstance(how := self.how, Scale):
            axes = None if not self.ratio.ndim else [index for index in range(value.type.rank) if index != how.axis]
            return self._round(value, axes, how.axis, how.type.dtype)
        depth, columns = value.type.shape
        rows, extra = relax.permute_dims(value), -depth % how.type.block
        if extra:
            import numpy

            rows = relax.concat([rows, const(numpy.zeros((columns, extra), "f4"), dtype_of(value))], axis=1)
        rows = self._round(relax.reshape(rows, (-1, how.type.block)), [1], 0, f"ui{how.type.bits}")
        whole = relax.reshape(rows, (columns, depth + extra))
        if extra:
            whole = relax.strided_slice(whole, axes=[1], begin=[0], end=[depth])
        return relax.permute_dims(whole)

    def _round(self, value: Value, axes: list[int] | None, axis: int, dtype: str) -> Value:
        how = self.how
        zero = const(_zero_points(how), dtype)
        if self._is_fixed:
            scale = const(how.scale.reshape(self.ratio.shape))
        else:
            # Scales are constants for gradients, like the scales of torch's observers.
            largest = relax.astype(relax.max(relax.abs(relax.grad.no_grad(value)), axis=axes), dtype="f32")
            scale = relax.multiply(relax.maximum(largest, const(_LEAST, "f32")), const(self.ratio))
        if how.type.narrow:
            value = relax.maximum(value, self._least_number(scale, value, axis))
        numbers = relax.quantize(value, scale, zero, axis=axis, out_dtype=dtype)
        return relax.dequantize(numbers, scale, zero, axis=axis, out_dtype=dtype_of(value))

    def _least_number(self, scale: Value, value: Value, axis: int) -> Value:
        """Return the numbers that the least code of a narrow type represents."""
        steps = _limits(self.how)[0] - _zero_points(self.how).astype("f4")
        behind = value.type.rank - 1 - axis
        least = relax.astype(relax.multiply(scale, const(steps)), dtype=dtype_of(value))
        return relax.expand_dims(least, axis=list(range(1, 1 + behind))) if self.ratio.ndim and behind else least


def _elements(value: Value) -> ndarray:
    elements = floats_of(value)
    assert elements is not None
    return elements.astype("f4")


def _rows(elements: ndarray, how: Scale | Blocks) -> ndarray:
    """Return weights as they are, or in rows, one for each block."""
    import numpy

    if isinstance(how, Scale):
        return elements
    rows = elements.T
    return numpy.pad(rows, ((0, 0), (0, -rows.shape[1] % how.type.block))).reshape(-1, how.type.block)


def _largest(rows: ndarray, how: Scale | Blocks) -> ndarray:
    if isinstance(how, Blocks):
        return abs(rows).max(1)
    if not how.scale.ndim:
        return abs(rows).max(keepdims=False)
    return abs(rows).max(tuple(index for index in range(rows.ndim) if index != how.axis))


def _limits(how: Scale | Blocks) -> tuple[float, float]:
    """Return the least and the largest code."""
    if isinstance(how, Scale):
        return how.type.limits
    return int(how.type.narrow), (1 << how.type.bits) - 1


def _zero_points(how: Scale | Blocks) -> ndarray:
    import numpy

    if isinstance(how, Scale):
        return how.zero_point
    middle = numpy.full(how.scale.shape, 1 << (how.type.bits - 1), storage_dtype("ui8"))
    return (middle if how.zero_point is None else how.zero_point).reshape(-1)
