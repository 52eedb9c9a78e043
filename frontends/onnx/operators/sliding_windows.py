# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sliding windows over spatial dimensions: kernel, strides, dilations, and padding by `pads` and `auto_pad`."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols import Dim, ceildiv
from ....support.suggest import counted
from ...core.pool_windows import Windows, with_borders
from ...core.sizes import Size, divided, is_known, larger, minus, plus, sizes_of, times
from ..prelude import OnnxNode, Tensor, info_of, relax

_SAME = ("SAME_UPPER", "SAME_LOWER")


def spatial_sizes(node: OnnxNode, index: int = 0) -> tuple[Dim, ...]:
    """Return the sizes behind batch and channels, None for dynamic sizes."""
    if (shape := node.value(index).shape) is None or len(shape) < 3:
        raise node.fail(f"input #{index} must have a batch, channels and spatial dimensions")
    return tuple(shape[2:])


def kernel_of(node: OnnxNode, weight: int) -> tuple[int, ...]:
    """Return the kernel's size along each dimension, from the attribute or the weight."""
    taps = node.ints("kernel_shape") or [size for size in spatial_sizes(node, weight) if isinstance(size, int)]
    if len(taps) != node.rank(weight) - 2:
        raise node.fail("the kernel's sizes must be known before the model runs: give attribute 'kernel_shape'")
    return tuple(taps)


def per_dimension(node: OnnxNode, name: str, count: int, default: int = 1) -> tuple[int, ...]:
    values = node.ints(name) or [default] * count
    if len(values) != count:
        raise node.fail(f"attribute '{name}' must have {count} entries, got {len(values)}", name)
    return tuple(values)


def windows_of(node: OnnxNode, kernel: Sequence[int], index: int = 0) -> Windows:
    """Return the windows over an input's spatial dimensions."""
    count, sizes = len(kernel), spatial_sizes(node, index)
    if len(sizes) != count:
        raise node.fail(
            f"attribute 'kernel_shape' has {count} entries for {counted(len(sizes), 'dimension')}", "kernel_shape"
        )
    strides, dilations = per_dimension(node, "strides", count), per_dimension(node, "dilations", count)
    windows = Windows(tuple(kernel), strides, dilations, (0,) * count, (0,) * count)
    if (mode := auto_pad(node)) == "VALID":
        return windows
    if mode == "NOTSET":
        pads = per_dimension(node, "pads", 2 * count, 0)
        return windows._replace(before=pads[:count], after=pads[count:])
    if any(size is None and stride != 1 for size, stride in zip(sizes, strides, strict=True)):
        sizes = tuple(sizes_of(node.value(index))[2:])
    totals = list(map(_same_total, sizes, windows.reaches, strides))
    halves = [divided(total, 2) for total in totals]
    rests = list(map(minus, totals, halves))
    before, after = (halves, rests) if mode == "SAME_UPPER" else (rests, halves)
    return windows._replace(before=tuple(before), after=tuple(after))


def auto_pad(node: OnnxNode) -> str:
    return node.choice("auto_pad", "NOTSET", ("NOTSET", "VALID", *_SAME, "")) or "NOTSET"


def _same_total(size: Size, reach: int, stride: int) -> Size:
    """Return the total padding for ceil(size / stride) windows."""
    if stride == 1:
        return reach - 1
    count = ceildiv(size, stride) if is_known(size) else divided(plus(size, stride - 1), stride)
    return larger(minus(plus(times(minus(count, 1), stride), reach), size), 0)


def padded(data: Tensor, windows: Windows, value: float, dtype: str) -> tuple[Tensor, list[int]]:
    """Return the data, and the padding for the operator. Padding that depends on sizes is added to the data."""
    if windows.is_fixed:
        return data, [*windows.before, *windows.after]
    return with_borders(data, windows, value, dtype), [0] * (2 * len(windows.kernel))


def with_same_sizes(node: OnnxNode, result: Tensor, windows: Windows) -> Tensor:
    """Give the result's type the sizes that 'auto_pad' implies, in their simplest form."""
    if windows.is_fixed or auto_pad(node) not in _SAME:
        return result
    info = info_of(result)
    assert info.shape is not None
    sizes = [ceildiv(size, stride) for size, stride in zip(spatial_sizes(node), windows.strides, strict=True)]
    return relax.match_cast(result, ty=info.with_shape((*info.shape[:2], *sizes)))
