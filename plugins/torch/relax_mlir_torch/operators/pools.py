# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of pools over windows, adaptive and fractional pools, and the inverse of max pooling.

Internally, tensors are [batch, channels, ...]. An input without a batch gets one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.pool_windows import Windows, covering, maxima_and_places

from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    Value,
    along_axis,
    cast,
    const,
    info_of,
    part,
    register_torch,
    relax,
    sizes,
)
from .convolutions import per_dimension


def count_of(node: TorchNode) -> int:
    """Return the number of dimensions in an operator's name, such as `aten::max_pool2d`."""
    return int(node.op[node.op.index("d", node.op.index("pool")) - 1])


def batched(node: TorchNode, tensor: Tensor, count: int) -> Tensor:
    if (missing := count + 2 - tensor.type.rank) not in (0, 1):
        raise node.fail(f"the input must have {count + 1} or {count + 2} dimensions, not {tensor.type.rank}")
    return relax.expand_dims(tensor, axis=[0]) if missing else tensor


def as_given(node: TorchNode, tensor: Tensor, count: int) -> Tensor:
    """Remove the batch dimension if the input had none."""
    return tensor if node.rank(0) == count + 2 else relax.squeeze(tensor, axis=[0])


def _windows(node: TorchNode, count: int) -> Windows:
    kernel = per_dimension(node, "kernel_size", count)
    strides = per_dimension(node, "stride", count) if node.get("stride") else kernel
    pads = per_dimension(node, "padding", count, 0)
    gaps = per_dimension(node, "dilation", count)
    return Windows(*(tuple(each) for each in (kernel, strides, gaps, pads, pads)))


def _emit_pool(kind: str, data: Tensor, windows: Windows, **settings: bool) -> Tensor:
    return relax.dialect.ops[f"nn.{kind}_pool{len(windows.kernel)}d"](
        data,
        pool_size=windows.kernel,
        strides=windows.strides,
        padding=[*windows.before, *windows.after],
        dilation=windows.dilations,
        **settings,
    )


@register_torch("aten::max_pool1d", "aten::max_pool2d", "aten::max_pool3d")
def max_pool(node: TorchNode) -> Outputs:
    count = count_of(node)
    data = batched(node, node.tensor(0), count)
    made = _emit_pool("max", data, _windows(node, count), ceil_mode=node.bool("ceil_mode"))
    return as_given(node, made, count)


@register_torch(
    "aten::max_pool1d_with_indices", "aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices",
)  # fmt: skip
def max_pool_with_indices(node: TorchNode) -> Outputs:
    """Convert max pooling with indices, which count within the image of a channel."""
    if not node.is_wanted[1]:
        return [max_pool(node), None]  # type: ignore[list-item]
    count = count_of(node)
    data = batched(node, node.tensor(0), count)
    counts = node.sizes_of_result[-count:]
    maxima = maxima_and_places(data, _places(data, count), _windows(node, count), counts, takes_nan=True)
    return [as_given(node, tensor, count) for tensor in maxima]


def _places(data: Tensor, count: int) -> Tensor:
    """Return the index of each element in its channel's image, [batch, channels, ...]."""
    shape = sizes.sizes_of(Value(ssa=data))
    image = sizes.reshaped(sizes.count_up(sizes.product(shape[-count:])), shape[-count:])
    return sizes.broadcast(image, shape)


@register_torch("aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d")
def avg_pool(node: TorchNode) -> Outputs:
    count, windows = count_of(node), _windows(node, count_of(node))
    data, dtype = batched(node, node.tensor(0), count), node.dtype
    has_ceil, divisor = node.bool("ceil_mode"), node.int("divisor_override", None)
    if divisor is not None:
        wide = covering(windows) if has_ceil else windows
        means = _emit_pool("avg", cast(data, _wide(dtype)), wide, count_include_pad=True)
        share = math.prod(windows.kernel) / divisor
        return as_given(node, cast(relax.multiply(means, const(share, _wide(dtype))), dtype), count)
    counts_padding = node.bool("count_include_pad", True)
    made = _emit_pool("avg", data, windows, ceil_mode=has_ceil, count_include_pad=counts_padding)
    return as_given(node, made, count)


def _wide(dtype: str) -> str:
    return "f64" if dtype == "f64" or not is_float(dtype) else "f32"


# ---- pools with a requested number of windows ----


@register_torch(
    "aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::adaptive_avg_pool3d",
    "aten::_adaptive_avg_pool2d", "aten::_adaptive_avg_pool3d",
)  # fmt: skip
def adaptive_avg_pool(node: TorchNode) -> Outputs:
    _refuse_integers(node)
    count = count_of(node)
    data = batched(node, node.tensor(0), count)
    own, wanted = sizes.sizes_of(Value(ssa=data))[2:], _read_sizes(node, count)
    if all(each == 0 for each in wanted):
        return sizes.zeros(node.sizes_of_result, node.dtype)
    changed = [axis for axis, (size, each) in enumerate(zip(own, wanted, strict=True)) if size != each]
    if all(wanted[axis] == 1 for axis in changed):
        axes = [2 + axis for axis in changed]
        return as_given(node, relax.mean(data, axis=axes, keepdims=True) if axes else data, count)
    if all(isinstance(each, int) for each in wanted):
        made = relax.dialect.ops[f"nn.adaptive_avg_pool{count}d"](data, output_size=wanted)
        return as_given(node, made, count)
    for axis in changed:
        data = _average_along(data, 2 + axis, wanted[axis])
    return as_given(node, data, count)


def _read_sizes(node: TorchNode, count: int) -> list[sizes.Size]:
    given = node.sizes("output_size")
    return given * count if len(given) == 1 else given


def _average_along(data: Tensor, axis: int, count: sizes.Size) -> Tensor:
    """Average adaptively along one dimension. Averages of averages are the averages of whole windows."""
    shape = sizes.sizes_of(Value(ssa=data))
    if not isinstance(count, int):
        return _average_windows(data, axis, shape[axis], count)
    behind = sizes.product(shape[axis + 1 :])
    flat = sizes.reshaped(data, [1, sizes.product(shape[:axis]), shape[axis], behind])
    moved = relax.permute_dims(flat, axes=[0, 1, 3, 2])
    rows = sizes.reshaped(moved, [sizes.product(shape[:axis]), behind, shape[axis]])
    made = relax.permute_dims(relax.nn.adaptive_avg_pool1d(rows, output_size=count), axes=[0, 2, 1])
    return sizes.reshaped(made, [*shape[:axis], count, *shape[axis + 1 :]])


def _average_windows(data: Tensor, axis: int, size: sizes.Size, count: sizes.Size) -> Tensor:
    """Average a dynamic number of windows. All windows are taken with the length of the longest one."""
    places, last = _places_of_windows(size, count)
    dtype = info_of(data).dtype
    wide = _wide(dtype)
    taken = cast(relax.take(data, relax.minimum(places, last), axis=axis), wide)
    is_inside = along_axis(relax.less_equal(places, last), axis + 1, taken.type.rank)
    total = relax.sum(relax.where(is_inside, taken, const(0, wide)), axis=[axis + 1])
    return cast(relax.divide(total, relax.sum(cast(is_inside, wide), axis=[1])), dtype)


def _refuse_integers(node: TorchNode) -> None:
    """Refuse integers, as eager mode does."""
    dtype = node.value(0).dtype
    if not is_float(dtype):
        raise node.fail(f"torch computes it only for floats, got {dtype}")


@register_torch("aten::adaptive_max_pool1d", "aten::adaptive_max_pool2d", "aten::adaptive_max_pool3d")
def adaptive_max_pool(node: TorchNode) -> Outputs:
    """Convert adaptive max pooling.

    Windows are gathered with the length of the longest, repeating their last element.
    """
    _refuse_integers(node)
    count = count_of(node)
    data, wanted = batched(node, node.tensor(0), count), _read_sizes(node, count)
    own = sizes.sizes_of(Value(ssa=data))[2:]
    if all(isinstance(size, int) and each and size % each == 0 for size, each in zip(own, wanted, strict=True)):
        kernel = tuple(size // each for size, each in zip(own, wanted, strict=True))
        none = (0,) * count
        windows = Windows(kernel, kernel, (1,) * count, none, none)
        if not node.is_wanted[1]:
            return [as_given(node, _emit_pool("max", data, windows), count), None]
        maxima = maxima_and_places(data, _places(data, count), windows, wanted, takes_nan=True)
        return [as_given(node, tensor, count) for tensor in maxima]
    values = _gather(data, own, wanted)
    result = as_given(node, relax.max(values, axis=[-1]), count)
    if not node.is_wanted[1]:
        return [result, None]
    first = relax.expand_dims(_largest(values, node.dtype), axis=[-1])
    shape = sizes.sizes_of(Value(ssa=data))
    image = sizes.reshaped(sizes.count_up(sizes.product(shape[2:])), [1, 1, *shape[2:]])
    places = sizes.broadcast(_gather(image, own, wanted), sizes.sizes_of(Value(ssa=values)))
    taken = relax.squeeze(relax.gather_elements(places, first, axis=-1), axis=[-1])
    return [result, as_given(node, taken, count)]


def _largest(values: Tensor, dtype: str) -> Tensor:
    """Return the index of the first largest element of each row, or of the last NaN."""
    if not is_float(dtype):
        return relax.argmax(values, axis=-1)
    is_nan = relax.isnan(values)
    order = relax.add(sizes.count_up(sizes.size_of(values, -1)), const(1, "i64"))
    order = relax.where(is_nan, order, const(0, "i64"))
    first = relax.argmax(relax.where(is_nan, const(-math.inf, dtype), values), axis=-1)
    last = relax.max(order, axis=[-1])
    return relax.where(relax.greater(last, const(0, "i64")), relax.subtract(last, const(1, "i64")), first)


def _gather(data: Tensor, own: Sequence[sizes.Size], wanted: Sequence[sizes.Size]) -> Tensor:
    """Gather windows: [batch, channels, windows of each dimension..., all elements of a window]."""
    count = len(own)
    for axis, (size, windows) in enumerate(zip(own, wanted, strict=True)):
        data = relax.take(data, _elements_of_windows(size, windows), axis=2 + 2 * axis)
    apart = relax.permute_dims(data, axes=[0, 1, *range(2, 2 + 2 * count, 2), *range(3, 3 + 2 * count, 2)])
    shape = sizes.sizes_of(Value(ssa=apart))
    return sizes.reshaped(apart, [*shape[: 2 + count], sizes.product(shape[2 + count :])])


def _elements_of_windows(size: sizes.Size, windows: sizes.Size) -> Tensor:
    """Return a row of indices for each window. The last index is repeated up to the longest window's length."""
    return relax.minimum(*_places_of_windows(size, windows))


def _places_of_windows(size: sizes.Size, windows: sizes.Size) -> tuple[Tensor, Tensor]:
    """Return the indices of each window, as many as in the longest window, and each window's last index.

    Window i begins at floor(i * size / windows) and ends before ceil((i + 1) * size / windows).
    """
    longest = sizes.plus(sizes.divided(sizes.plus(size, sizes.minus(windows, 1)), windows), 1)
    index = relax.expand_dims(sizes.count_up(windows), axis=[1])
    whole, parts = sizes.as_tensor([size]), sizes.as_tensor([windows])
    begin = relax.floor_divide(relax.multiply(index, whole), parts)
    next_ = relax.multiply(relax.add(index, const(1, "i64")), whole)
    last = relax.floor_divide(relax.subtract(next_, const(1, "i64")), parts)
    return relax.add(begin, sizes.count_up(longest)), last


# ---- the inverse of max pooling ----


@register_torch("aten::max_unpool2d", "aten::max_unpool3d")
def max_unpool(node: TorchNode) -> Outputs:
    """Convert max_unpool: place each maximum in its channel's image, with zeros around."""
    count = count_of(node)
    shape, wanted = sizes.sizes_of(node.value(0)), node.sizes("output_size")
    lead = sizes.product(shape[:-count])
    values, places = (sizes.reshaped(node.tensor(number), [lead, sizes.product(shape[-count:])]) for number in (0, 1))
    flat = relax.scatter_elements(sizes.zeros([lead, sizes.product(wanted)], node.dtype), places, values, axis=1)
    return sizes.reshaped(flat, [*shape[:-count], *wanted])


# ---- windows at random distances ----


@register_torch("aten::fractional_max_pool2d", "aten::fractional_max_pool3d")
def fractional_max_pool(node: TorchNode) -> Outputs:
    """Convert fractional max pooling. One random number per dimension gives the windows of a channel.

    With two dimensions, the random number of the last one comes first.
    """
    count, wanted = count_of(node), node.ints("output_size")
    data, samples = batched(node, node.tensor(0), count), node.tensor("random_samples")
    image, kernel = sizes.sizes_of(Value(ssa=data))[2:], per_dimension(node, "kernel_size", count)
    lead = sizes.sizes_of(Value(ssa=data))[:2]
    places: Tensor = const(0, "i64")
    for axis, (size, length, windows) in enumerate(zip(image, kernel, wanted, strict=True)):
        place = count - 1 - axis if count == 2 else axis
        starts = _random_starts(part(samples, 2, place, place + 1), size, length, windows)
        own = relax.add(relax.expand_dims(starts, axis=[-1]), sizes.count_up(length))
        # [batch, channels, windows of each dimension..., elements of a window along each dimension]
        apart = [
            windows if position == axis else length if position == count + axis else 1 for position in range(2 * count)
        ]
        own = sizes.reshaped(own, [*lead, *apart])
        places = relax.add(relax.multiply(places, relax.reshape(sizes.as_tensor([size]), ())), own)
    flat, rows = math.prod(wanted), math.prod(kernel)
    index = sizes.reshaped(places, [*lead, flat * rows])
    taken = relax.gather_elements(sizes.reshaped(data, [*lead, sizes.product(image)]), index, axis=2)
    values, index = (sizes.reshaped(each, [*lead, *wanted, rows]) for each in (taken, index))
    first = relax.expand_dims(_largest(values, node.dtype), axis=[-1])
    made = (relax.squeeze(relax.gather_elements(each, first, axis=-1), axis=[-1]) for each in (values, index))
    return [as_given(node, each, count) for each in made]


def _random_starts(sample: Tensor, size: sizes.Size, length: int, windows: int) -> Tensor:
    """Return the starts of windows, [batch, channels, windows]. The last window ends with the dimension."""
    dtype = info_of(sample).dtype
    last = relax.reshape(sizes.as_tensor([sizes.minus(size, length)]), ())
    step = relax.divide(cast(last, dtype), const(max(windows - 1, 1), dtype))
    before = sizes.count_up(windows)
    moved, own = (
        cast(relax.multiply(tensor, step), "i64") for tensor in (relax.add(cast(before, dtype), sample), sample)
    )
    is_last = relax.equal(before, const(windows - 1, "i64"))
    return relax.minimum(relax.where(is_last, last, relax.subtract(moved, own)), last)
