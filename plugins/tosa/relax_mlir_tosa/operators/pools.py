# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools over windows of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from relax_mlir.dialects.core.infos import is_float

from ..prelude import Number, Outputs, Tensor, TosaNode, cast, const, elementwise, register_tosa, relax, sizes
from .elementwise import clipped
from .quantization import apply_scale, centered
from .reductions import without_nan


class PoolWindows(NamedTuple):
    """Windows of two dimensions. Padding is top, bottom, left, right."""

    kernel: Sequence[int]
    stride: Sequence[int]
    pad: Sequence[int]

    @property
    def settings(self) -> dict[str, Any]:
        top, bottom, left, right = self.pad
        sides = [top, left, bottom, right]
        return {"pool_size": list(self.kernel), "strides": list(self.stride), "padding": sides, "layout": "NHWC"}

    def counts(self, axis: int, size: int) -> list[int]:
        """Return the number of elements of the data in each window along a dimension."""
        before, after = self.pad[2 * axis : 2 * axis + 2]
        starts = range(-before, size + after - self.kernel[axis] + 1, self.stride[axis])
        return [min(start + self.kernel[axis], size) - max(start, 0) for start in starts]


def _windows(node: TosaNode, first: int) -> PoolWindows:
    """Return the windows from attributes, or from operands for adaptive pools."""
    if node.op.endswith("_adaptive"):
        return PoolWindows(*(node.known_shape(first + index) for index in range(3)))
    return PoolWindows(node.attr("kernel"), node.attr("stride"), node.attr("pad"))


@register_tosa("tosa.max_pool2d", "tosa.max_pool2d_adaptive")
def max_pool2d(node: TosaNode) -> Outputs:
    """Return maxima: NaN if a window contains NaN, unless NaN is ignored."""
    x, settings = node.tensor(0), _windows(node, 1).settings
    if not is_float(node.dtype):
        return relax.nn.max_pool2d(x, **settings)
    outputs = relax.nn.max_pool2d(without_nan(x, float("-inf")), **settings)
    if node.ignores_nan:
        return outputs
    has_nan = relax.nn.max_pool2d(cast(relax.isnan(x), "f32"), **settings)
    return relax.where(relax.greater(has_nan, const(0, "f32")), const(float("nan"), node.dtype), outputs)


@register_tosa("tosa.avg_pool2d", "tosa.avg_pool2d_adaptive")
def avg_pool2d(node: TosaNode) -> Outputs:
    """Return means of the data in each window, without the padding. Integers use a multiplier and a shift."""
    windows = _windows(node, 3)
    if is_float(node.dtype):
        wide = cast(node.tensor(0), str(node.attr("acc_type")))
        return cast(relax.nn.avg_pool2d(wide, **windows.settings, count_include_pad=False), node.dtype)
    summed = _sum_windows(node, centered(cast(node.tensor(0), "i32"), node, 1, "i32"), windows)
    multipliers, shifts = _reciprocals(node, windows)
    operands = [summed, multipliers, shifts, relax.reshape(node.tensor(2), ())]
    return elementwise(node, _compute_average, operands, node.dtype, dtype=node.dtype)


def _sum_windows(node: TosaNode, x: Tensor, windows: PoolWindows) -> Tensor:
    """Sum windows by a depthwise convolution with ones."""
    if not isinstance(channels := (node.value(0).shape or ())[-1], int):
        raise node.fail("the number of channels is not known while the module is imported")
    top, bottom, left, right = windows.pad
    return relax.nn.conv2d(
        x,
        sizes.full([*windows.kernel, channels, 1], const(1, "i32")),
        strides=list(windows.stride),
        padding=[top, left, bottom, right],
        groups=channels,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )


def _reciprocals(node: TosaNode, windows: PoolWindows) -> tuple[Tensor, Tensor]:
    """Return the reciprocals of the windows' element counts: multipliers of 31 bits and shifts."""
    import numpy

    shape = (node.value(0).shape or ())[1:3]
    if all(isinstance(size, int) for size in shape):
        rows, columns = (windows.counts(axis, size) for axis, size in enumerate(shape))
        counts = numpy.outer(rows, columns)
    elif not any(windows.pad):
        counts = numpy.full((1, 1), windows.kernel[0] * windows.kernel[1])
    else:
        raise node.fail("the sizes of the images are not known while the module is imported, and there is padding")
    pairs = [_reciprocal(int(count)) for count in counts.ravel()]
    multipliers, shifts = (
        numpy.array([pair[place] for pair in pairs], "int64").reshape(1, *counts.shape, 1) for place in (0, 1)
    )
    return const(multipliers), const(shifts)


def _reciprocal(count: int) -> tuple[int, int]:
    """Return 1 / count as a multiplier of 31 bits and a shift, as in the specification."""
    leading = (count - 1).bit_length()
    return ((1 << 30) + 1 << leading) // count, 30 + leading


def _compute_average(total: Number, multiplier: Number, shift: Number, zero: Number, dtype: str) -> Number:
    return clipped(apply_scale(total.to("i64"), multiplier, shift, False) + zero.to("i64"), dtype)
