# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows that slide over the spatial dimensions: strides, dilations, and what `pads` and `auto_pad` add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...bindings.suggest import counted
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, ceildiv, dim_add, dim_max, dim_mul, dim_sub
from ...dialects.relax import const, dialect
from .node import Node
from .values import typed

relax = dialect.ops
_SAME = ("SAME_UPPER", "SAME_LOWER")


class Windows(NamedTuple):
    """Along each spatial dimension; what is added before and after may depend on the sizes."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[Dim, ...]
    after: tuple[Dim, ...]

    @property
    def reaches(self) -> tuple[int, ...]:
        return tuple((taps - 1) * gap + 1 for taps, gap in zip(self.kernel, self.dilations, strict=True))

    @property
    def is_fixed(self) -> bool:
        """Whether what is added is known, not a function of dimensions."""
        return all(isinstance(each, int) for each in (*self.before, *self.after))


def info_of(tensor: Any) -> TensorInfo:
    """The type of a tensor in the graph."""
    info = decode(tensor.type)
    assert isinstance(info, TensorInfo)
    return info


def spatial_sizes(node: Node, index: int = 0) -> tuple[Dim, ...]:
    """The sizes behind batch and channels; None for those that only the run tells."""
    shape = node.value(index).shape
    if shape is None or len(shape) < 3:
        raise node.fail(f"input #{index} must have a batch, channels and spatial dimensions")
    return tuple(shape[2:])


def kernel_of(node: Node, weight: int) -> tuple[int, ...]:
    """The taps along each dimension, as attribute or weight tell."""
    taps = node.ints("kernel_shape") or [size for size in spatial_sizes(node, weight) if isinstance(size, int)]
    if len(taps) != node.rank(weight) - 2:
        raise node.fail("the kernel's sizes must be known before the model runs: give attribute 'kernel_shape'")
    return tuple(taps)


def per_dimension(node: Node, name: str, count: int, default: int = 1) -> tuple[int, ...]:
    values = node.ints(name) or [default] * count
    if len(values) != count:
        raise node.fail(f"attribute '{name}' must have {count} entries, got {len(values)}", name)
    return tuple(values)


def windows_of(node: Node, kernel: Sequence[int], sizes: Sequence[Dim]) -> Windows:
    """The windows over dimensions of these sizes."""
    count = len(kernel)
    if len(sizes) != count:
        raise node.fail(
            f"attribute 'kernel_shape' has {count} entries for {counted(len(sizes), 'dimension')}", "kernel_shape"
        )
    strides, dilations = per_dimension(node, "strides", count), per_dimension(node, "dilations", count)
    windows = Windows(tuple(kernel), strides, dilations, (0,) * count, (0,) * count)
    mode = auto_pad(node)
    if mode == "VALID":
        return windows
    if mode == "NOTSET":
        pads = per_dimension(node, "pads", 2 * count, 0)
        return windows._replace(before=pads[:count], after=pads[count:])
    totals = [
        _same_total(node, size, reach, stride)
        for size, reach, stride in zip(sizes, windows.reaches, strides, strict=True)
    ]
    halves = [_half(total) for total in totals]
    rests = [dim_sub(total, half) for total, half in zip(totals, halves, strict=True)]
    before, after = (halves, rests) if mode == "SAME_UPPER" else (rests, halves)
    return windows._replace(before=tuple(before), after=tuple(after))


def auto_pad(node: Node) -> str:
    mode: str = node.string("auto_pad", "NOTSET") or "NOTSET"
    if mode not in (*_SAME, "VALID", "NOTSET"):
        raise node.fail(
            f"attribute 'auto_pad' must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got '{mode}'", "auto_pad"
        )
    return mode


def _same_total(node: Node, size: Dim, reach: int, stride: int) -> Dim:
    """What makes ceil(size / stride) windows fit."""
    if stride == 1:
        return reach - 1
    if size is None:
        raise node.fail("the size must be known for this 'auto_pad', or its stride be 1", "auto_pad")
    needed = dim_add(dim_mul(dim_sub(ceildiv(size, stride), 1), stride), reach)
    return dim_max(dim_sub(needed, size), 0)


def _half(total: Dim) -> Dim:
    assert total is not None
    return total // 2


def padded(node: Node, data: Any, windows: Windows, value: Any, dtype: str) -> tuple[Any, list[int]]:
    """The data, and what an operator has to pad: padding that depends on sizes becomes part of the data."""
    if windows.is_fixed:
        return data, [each for each in (*windows.before, *windows.after) if isinstance(each, int)]
    return with_borders(node, data, windows, value, dtype), [0] * (2 * len(windows.kernel))


def with_borders(node: Node, data: Any, windows: Windows, value: Any, dtype: str) -> Any:
    """The data between borders filled with a value; their widths may depend on sizes."""
    if windows.is_fixed:
        sides = [side for pair in zip(windows.before, windows.after, strict=True) for side in pair]
        return data if not any(sides) else relax["nn.pad"](data, pad_width=[0, 0, 0, 0, *sides], pad_value=value)
    shape = list(node.value(0).shape or ())
    for axis, (before, after) in enumerate(zip(windows.before, windows.after, strict=True), 2):
        borders = [
            relax["full"](tuple([*shape[:axis], width, *shape[axis + 1 :]]), const(value, dtype))
            for width in (before, after)
        ]
        if None in shape:
            raise node.fail("every size must be known for this 'auto_pad'", "auto_pad")
        data = relax["concat"](borders[0], data, borders[1], axis=axis)
        shape[axis] = dim_add(dim_add(shape[axis], before), after)
    return data


def with_same_sizes(node: Node, result: Any, windows: Windows) -> Any:
    """The result with the sizes that 'auto_pad' gives, said as simply as they can be."""
    if windows.is_fixed or auto_pad(node) not in _SAME:
        return result
    info = info_of(result)
    assert info.shape is not None
    sizes = [ceildiv(size, stride) for size, stride in zip(spatial_sizes(node), windows.strides, strict=True)]
    return relax["match_cast"](result, typed(info.with_shape((*info.shape[:2], *sizes)), result.context))
