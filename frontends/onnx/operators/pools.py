# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of pooling over windows or whole images, and of the inverse of max pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....dialects.core.symbols import Dim, dim_add, dim_mul, product
from ....emit.axis_reduction import lowest
from ....support.suggest import counted
from ...core import sizes
from ...core.pool_windows import Windows, covering, maxima_and_places
from ..prelude import OnnxNode, Outputs, Tensor, Value, const, register_onnx, relax
from .sliding_windows import padded, per_dimension, spatial_sizes, windows_of, with_same_sizes


def _pool_windows(node: OnnxNode) -> Windows:
    if not (kernel := node.ints("kernel_shape")):
        raise node.fail("attribute 'kernel_shape' is missing", "kernel_shape")
    if len(kernel) > 3:
        raise node.fail(f"pools are over 1, 2 or 3 dimensions, not over {len(kernel)}", "kernel_shape")
    return windows_of(node, kernel)


def _pooled(node: OnnxNode, name: str, data: Tensor, windows: Windows, pads: Sequence[int], **settings: bool) -> Tensor:
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
def max_pool(node: OnnxNode) -> Outputs:
    windows, dtype = _pool_windows(node), node.value(0).dtype
    data, pads = padded(node.tensor(0), windows, lowest(dtype), dtype)
    result = _pooled(node, "max", data, windows, pads)
    if node.output_count < 2 or not node.proto.output[1]:
        return result
    counts = sizes.sizes_of(Value(ssa=result))[2:]
    return maxima_and_places(node.tensor(0), _places(node, sizes.sizes_of(node.value(0))), windows, counts)


def _places(node: OnnxNode, shape: Sequence[sizes.Size]) -> Tensor:
    """Return the flat index of each element. With storage_order 1, the spatial dimensions are in column-major order."""
    places = sizes.count_up(sizes.product(shape))
    if not node.int("storage_order", 0):
        return sizes.reshaped(places, shape)
    transposed = sizes.reshaped(places, [*shape[:2], *reversed(shape[2:])])
    return relax.permute_dims(transposed, axes=[0, 1, *range(len(shape) - 1, 1, -1)])


@register_onnx("", "AveragePool")
def average_pool(node: OnnxNode) -> Outputs:
    windows, dtype = _pool_windows(node), node.value(0).dtype
    counts_padding = bool(node.int("count_include_pad", 0))
    data, pads = padded(node.tensor(0), windows, 0, dtype)
    if windows.is_fixed or counts_padding:
        return _pooled(node, "avg", data, windows, pads, count_include_pad=counts_padding)
    # The operator counts the padding that was added to the data, so the result is divided by the actual share.
    ones, _ = padded(relax.ones_like(node.tensor(0)), windows, 0, dtype)
    share = _pooled(node, "avg", ones, windows, pads)
    return relax.divide(_pooled(node, "avg", data, windows, pads), share)


@register_onnx("", "LpPool")
def lp_pool(node: OnnxNode) -> Outputs:
    """Convert LpPool: the p-norm of a window from the mean of powers times the window's size.

    Padding with 0 adds nothing.
    """
    windows, dtype, power = _pool_windows(node), node.value(0).dtype, _power(node)
    if node.int("ceil_mode", 0):
        windows = covering(windows)
    data, pads = padded(_raise_to_power(node.tensor(0), power, dtype), windows, 0, dtype)
    means = _pooled(node, "avg", data, windows, pads, count_include_pad=True, ceil_mode=False)
    return _root(relax.multiply(means, const(math.prod(windows.kernel), dtype)), power, dtype)


def _power(node: OnnxNode) -> float:
    if not (power := float(node.float("p", 2.0) if node.version < 2 else node.int("p", 2))):
        raise node.fail("attribute 'p' must not be 0", "p")
    return power


def _raise_to_power(data: Tensor, power: float, dtype: str) -> Tensor:
    if power == 2:
        return relax.square(data)
    positive = relax.abs(data)
    return positive if power == 1 else relax.power(positive, const(power, dtype))


def _root(sums: Tensor, power: float, dtype: str) -> Tensor:
    if power == 2:
        return relax.sqrt(sums)
    return sums if power == 1 else relax.power(sums, const(1 / power, dtype))


@register_onnx("", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def global_pool(node: OnnxNode) -> Outputs:
    axes, dtype = list(range(2, node.rank(0))), node.value(0).dtype
    if node.op != "GlobalLpPool":
        return relax.dialect.ops["max" if node.op == "GlobalMaxPool" else "mean"](
            node.tensor(0), axis=axes, keepdims=True
        )
    power = _power(node)
    return _root(relax.sum(_raise_to_power(node.tensor(0), power, dtype), axis=axes, keepdims=True), power, dtype)


@register_onnx("", "MaxUnpool")
def max_unpool(node: OnnxNode) -> Outputs:
    """Convert MaxUnpool: place each maximum in the result. Indices refer to the shape without 'output_shape'."""
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
    scattered = relax.scatter_elements(flat, _convert_indices(places, whole, wanted), values)
    return relax.reshape(scattered, node.sizes(2) or relax.tensor_to_shape(wanted))


def _convert_indices(places: Tensor, whole: Sequence[Dim], tensor: Tensor) -> Tensor:
    """Convert flat indices of one shape to flat indices of a larger shape, a tensor, at the same coordinates."""
    result = const(0, "i64")
    for axis, size in reversed(list(enumerate(whole))):
        length = sizes.as_tensor([size])
        coordinate = relax.floor_mod(places, length)
        places = relax.floor_divide(places, length)
        step = relax.prod(relax.strided_slice(tensor, axes=[0], begin=[axis + 1], end=[len(whole)]))
        result = relax.add(result, relax.multiply(coordinate, step))
    return result
