# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling over windows and over whole images, and the inverse of taking maxima."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ....dialects.core.symbols import Dim, at_most, dim_add, dim_mul, product
from ....emit.axis_reduction import lowest
from ....support.suggest import counted
from ...core import sizes
from ...core.sizes import Size
from ..prelude import Node, Outputs, Tensor, Value, const, register_onnx, relax
from .sliding_windows import Windows, padded, per_dimension, spatial_sizes, windows_of, with_borders, with_same_sizes


def _pool_windows(node: Node) -> Windows:
    kernel = node.ints("kernel_shape")
    if not kernel:
        raise node.fail("attribute 'kernel_shape' is missing", "kernel_shape")
    if len(kernel) > 3:
        raise node.fail(f"there are pools over 1, 2 and 3 dimensions, not over {len(kernel)}", "kernel_shape")
    return windows_of(node, kernel)


def _pooled(node: Node, name: str, data: Tensor, windows: Windows, pads: Sequence[int], **settings: bool) -> Tensor:
    settings.setdefault("ceil_mode", bool(node.int("ceil_mode", 0)))
    result = relax.dialect.ops[f"nn.{name}_pool{len(windows.kernel)}d"](
        data,
        pool_size=windows.kernel,
        strides=windows.strides,
        padding=list(pads),
        dilation=windows.dilations,
        **settings,
    )
    return with_same_sizes(node, result, windows)


@register_onnx("", "MaxPool")
def max_pool(node: Node) -> Outputs:
    windows, dtype = _pool_windows(node), node.value(0).dtype
    data, pads = padded(node.tensor(0), windows, lowest(dtype), dtype)
    result = _pooled(node, "max", data, windows, pads)
    if node.output_count < 2 or not node.proto.output[1]:
        return result
    return _maxima_and_places(node, windows, sizes.sizes_of(Value(ssa=result))[2:])


def _maxima_and_places(node: Node, windows: Windows, counts: Sequence[Size]) -> Outputs:
    """Goes through the windows' taps: the largest so far, and where in the whole tensor it stands."""
    dtype, shape = node.value(0).dtype, sizes.sizes_of(node.value(0))
    # Windows of 'ceil_mode' may reach over the end.
    after = map(_reached, counts, windows.strides, windows.reaches, windows.before, shape[2:])
    wide = windows._replace(after=tuple(after))
    data = _as_far(with_borders(node.tensor(0), wide, lowest(dtype), dtype), windows, counts)
    places = _as_far(with_borders(_places(node, shape), wide, -1, "i64"), windows, counts)
    best, at = None, None
    for tap in itertools.product(*map(range, windows.kernel)):
        values, indices = (_strided(tensor, windows, tap) for tensor in (data, places))
        if best is None:
            best, at = values, indices
            continue
        # Padding is never the maximum, not even of values as low.
        is_better = relax.greater(values, best)
        was_padding = relax.logical_and(
            relax.dialect.ops["less"](at, const(0, "i64")), relax.greater_equal(indices, const(0, "i64"))
        )
        is_better = relax.logical_or(is_better, was_padding)
        best, at = (
            relax.dialect.ops["where"](is_better, values, best),
            relax.dialect.ops["where"](is_better, indices, at),
        )
    return [_of_sizes(each, counts) for each in (best, at) if each is not None]


def _reached(count: Size, stride: int, reach: int, before: Size, size: Size) -> Size:
    """How far the last window along a dimension reaches over the end."""
    last = sizes.plus(sizes.times(sizes.minus(count, 1), stride), reach)
    over = sizes.minus(sizes.minus(last, size), before)
    return 0 if sizes.is_known(over) and at_most(over, 0) else sizes.larger(over, 0)


def _places(node: Node, shape: Sequence[Size]) -> Tensor:
    """Where each element stands; with storage_order 1 the last dimensions are counted column by column."""
    places = sizes.count_up(sizes.product(shape))
    if not node.int("storage_order", 0):
        return sizes.reshaped(places, shape)
    transposed = sizes.reshaped(places, [*shape[:2], *reversed(shape[2:])])
    return relax.permute_dims(transposed, axes=[0, 1, *range(len(shape) - 1, 1, -1)])


def _as_far(tensor: Tensor, windows: Windows, counts: Sequence[Size]) -> Tensor:
    """What the windows reach, up to the last one's end."""
    ends = {
        axis: sizes.plus(sizes.times(sizes.minus(count, 1), stride), reach)
        for axis, (count, stride, reach) in enumerate(zip(counts, windows.strides, windows.reaches, strict=True), 2)
    }
    own = sizes.sizes_of(Value(ssa=tensor))
    bounds = {axis: (0, end, 1) for axis, end in ends.items() if end != own[axis]}
    return sizes.sliced(Value(ssa=tensor), bounds, ends) if bounds else tensor


def _strided(tensor: Tensor, windows: Windows, tap: Sequence[int]) -> Tensor:
    """The element of each window that stands at one tap: as far from the end as it is in the last one."""
    begin = [place * gap for place, gap in zip(tap, windows.dilations, strict=True)]
    end = [first + 1 - reach or sizes.OPEN for first, reach in zip(begin, windows.reaches, strict=True)]
    axes = range(2, 2 + len(begin))
    return relax.strided_slice(tensor, axes=axes, begin=begin, end=end, strides=windows.strides)


def _of_sizes(result: Tensor, counts: Sequence[Size]) -> Tensor:
    """With the sizes that the windows have, said as simply as they can be."""
    info = Value(ssa=result).info
    if info.shape is None or not sizes.is_known(*counts) or [*info.shape[2:]] == [*counts]:
        return result
    return relax.match_cast(result, ty=info.with_shape((*info.shape[:2], *counts)))


@register_onnx("", "AveragePool")
def average_pool(node: Node) -> Outputs:
    windows, dtype = _pool_windows(node), node.value(0).dtype
    counts_padding = bool(node.int("count_include_pad", 0))
    data, pads = padded(node.tensor(0), windows, 0, dtype)
    if windows.is_fixed or counts_padding:
        return _pooled(node, "avg", data, windows, pads, count_include_pad=counts_padding)
    # What was padded to the data counts, so that it has to be taken out again.
    ones, _ = padded(relax.ones_like(node.tensor(0)), windows, 0, dtype)
    share = _pooled(node, "avg", ones, windows, pads)
    return relax.divide(_pooled(node, "avg", data, windows, pads), share)


@register_onnx("", "LpPool")
def lp_pool(node: Node) -> Outputs:
    """The p-norm of each window: its mean of powers times its size, so padding with 0 does not matter."""
    windows, dtype, power = _pool_windows(node), node.value(0).dtype, _power(node)
    if node.int("ceil_mode", 0):
        windows = _covering(windows)
    data, pads = padded(_raised(node.tensor(0), power, dtype), windows, 0, dtype)
    means = _pooled(node, "avg", data, windows, pads, count_include_pad=True, ceil_mode=False)
    return _root(relax.multiply(means, const(math.prod(windows.kernel), dtype)), power, dtype)


def _covering(windows: Windows) -> Windows:
    """With so much padding behind that what 'ceil_mode' adds fits in, and none starts behind the data."""
    if not windows.is_fixed:
        return windows  # 'auto_pad' leaves no window over the end
    after = [
        min(high + stride - 1, max(reach - 1, high))
        for high, stride, reach in zip(windows.after, windows.strides, windows.reaches, strict=True)
    ]
    return windows._replace(after=tuple(after))


def _power(node: Node) -> float:
    power = float(node.float("p", 2.0) if node.version < 2 else node.int("p", 2))
    if not power:
        raise node.fail("attribute 'p' is 0: there is no such norm", "p")
    return power


def _raised(data: Tensor, power: float, dtype: str) -> Tensor:
    if power == 2:
        return relax.square(data)
    positive = relax.abs(data)
    return positive if power == 1 else relax.power(positive, const(power, dtype))


def _root(sums: Tensor, power: float, dtype: str) -> Tensor:
    if power == 2:
        return relax.sqrt(sums)
    return sums if power == 1 else relax.power(sums, const(1 / power, dtype))


@register_onnx("", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def global_pool(node: Node) -> Outputs:
    axes, dtype = list(range(2, node.rank(0))), node.value(0).dtype
    if node.op != "GlobalLpPool":
        return relax.dialect.ops["max" if node.op == "GlobalMaxPool" else "mean"](
            node.tensor(0), axis=axes, keepdims=True
        )
    power = _power(node)
    return _root(relax.sum(_raised(node.tensor(0), power, dtype), axis=axes, keepdims=True), power, dtype)


@register_onnx("", "MaxUnpool")
def max_unpool(node: Node) -> Outputs:
    """Each maximum at its place in the whole result, which counts without what 'output_shape' adds."""
    shape, own = node.value(0).shape, spatial_sizes(node)
    kernel = node.ints("kernel_shape")
    if shape is None or None in shape or not kernel:
        raise node.fail("the input's sizes must be known before the model runs")
    count = len(kernel)
    if len(own) != count:
        raise node.fail(f"the kernel has {counted(count, 'dimension')}, the data {len(own)} behind its channels")
    strides, pads = per_dimension(node, "strides", count), per_dimension(node, "pads", 2 * count, 0)
    inner = [
        dim_add(dim_mul(dim_add(size, -1), strides[axis]), kernel[axis] - pads[axis] - pads[axis + count])
        for axis, size in enumerate(own)
    ]
    whole = (*shape[:2], *inner)
    places, values = (relax.reshape(node.tensor(index), (-1,)) for index in (1, 0))
    if not node.has(2):
        flat = relax.dialect.ops["zeros"]((product(whole),), dtype=node.value(0).dtype)
        return relax.reshape(relax.scatter_elements(flat, places, values), whole)
    wanted = relax.astype(node.tensor(2), dtype="i64")
    flat = relax.zeros(relax.tensor_to_shape(relax.prod(wanted, keepdims=True)), dtype=node.value(0).dtype)
    scattered = relax.scatter_elements(flat, _replaced(places, whole, wanted), values)
    return relax.reshape(scattered, node.sizes(2) or relax.tensor_to_shape(wanted))


def _replaced(places: Tensor, whole: Sequence[Dim], wanted: Tensor) -> Tensor:
    """Places in a tensor of one shape as the same coordinates' places in a larger one, whose shape is a tensor."""
    result = const(0, "i64")
    for axis, size in reversed(list(enumerate(whole))):
        length = sizes.as_tensor([size])
        coordinate = relax.floor_mod(places, length)
        places = relax.floor_divide(places, length)
        step = relax.prod(relax.strided_slice(wanted, axes=[0], begin=[axis + 1], end=[len(whole)]))
        result = relax.add(result, relax.multiply(coordinate, step))
    return result
