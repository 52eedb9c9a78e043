# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of images and volumes in a layout with the channels last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.frontends.core.padding import padded
from relax_mlir.frontends.core.pool_windows import Windows
from relax_mlir.frontends.core.values import Array

from ..prelude import Outputs, Tensor, TfliteNode, Value, register_tflite, relax, sizes
from .activations import activated

_AXES = {2: ("h", "w"), 3: ("d", "h", "w")}


def windows_of(node: TfliteNode, own: Sequence[sizes.Size], kernel: Sequence[int]) -> Windows:
    """Return the windows of an operator on data with the spatial sizes `own`."""
    names = _AXES[len(kernel)]
    strides = [node.attr(f"stride_{name}") for name in names]
    dilations = [node.attr(f"dilation_{name}_factor", 1) for name in names]
    if min(*strides, *dilations, *kernel) < 1:
        raise node.fail("sizes of the kernel, strides and dilations must be at least 1")
    around = [
        added(node, size, (taps - 1) * gap + 1, stride)
        for size, taps, gap, stride in zip(own, kernel, dilations, strides, strict=True)
    ]
    before, after = zip(*around, strict=True)
    return Windows(tuple(kernel), tuple(strides), tuple(dilations), before, after)


def added(node: TfliteNode, size: sizes.Size, reach: int, stride: int) -> tuple[sizes.Size, sizes.Size]:
    """Return the padding before and after one dimension."""
    return (0, 0) if node.attr("padding") == 1 else same_padding(size, reach, stride)


def same_padding(size: sizes.Size, reach: int, stride: int) -> tuple[sizes.Size, sizes.Size]:
    """Return the padding of SAME before and after one dimension: one window for each stride that begins in the data.

    If the total is odd, the padding after the data has one element more.
    """
    if stride == 1:
        return (reach - 1) // 2, reach // 2
    count = sizes.divided(sizes.plus(size, stride - 1), stride)
    total = sizes.plus(sizes.times(sizes.minus(count, 1), stride), reach)
    total = sizes.larger(sizes.minus(total, size), 0)
    before = sizes.divided(total, 2)
    return before, sizes.minus(total, before)


def _image(node: TfliteNode, index: int, rank: int) -> tuple[list[sizes.Size], int]:
    """Return the spatial sizes and the number of channels of an input of rank `rank`."""
    own = node.sizes_of(index)
    if len(own) != rank or not isinstance(own[-1], int):
        raise node.fail(f"expected data of {rank} dimensions with a known number of channels, got sizes {own}")
    return own[1:-1], own[-1]


def with_bias(node: TfliteNode, tensor: Tensor, index: int) -> Tensor:
    """Add the bias, if there is one, and apply the fused activation.

    A bias is quantized with the product of the scales of data and weights.
    """
    if node.has(index):
        tensor = relax.add(tensor, node.real(index, node.stored(index)).ssa)
    return activated(node, tensor)


def _pad(data: Value, windows: Windows) -> tuple[Value, list[int]]:
    """Return the data and the padding for a convolution.

    If the padding is dynamic, the data is padded here and the convolution has no padding.
    """
    if windows.is_fixed:
        return data, [*windows.before, *windows.after]
    pairs = dict(enumerate(zip(windows.before, windows.after, strict=True), 1))
    made = padded(data, pairs, "constant", 0)
    return made if isinstance(made, Value) else Value(ssa=made), [0] * 2 * len(pairs)


def _convolve(
    node: TfliteNode,
    function: Callable[..., Tensor],
    weight: Tensor,
    kernel: Sequence[int],
    channels: int,
    **layout: str,
) -> Tensor:
    """Convolve the first input. The convolution is grouped if the weights have fewer channels than the data."""
    spatial, own = _image(node, 0, len(kernel) + 2)
    if not channels or own % channels:
        raise node.fail(f"data of {own} channels and weights of {channels} do not fit")
    windows = windows_of(node, spatial, kernel)
    data, padding = _pad(node.value(0), windows)
    made = function(
        data.ssa,
        weight,
        strides=windows.strides,
        padding=padding,
        dilation=windows.dilations,
        groups=own // channels,
        **layout,
    )
    return with_bias(node, made, 2)


@register_tflite("CONV_2D")
def conv2d(node: TfliteNode) -> Outputs:
    _, *kernel, channels = node.fixed_sizes(1, 4)
    # With the filters as the last dimension of the weights, the passes vectorize over filters.
    order = [1, 2, 3, 0]
    weight = _rearrange_weights(
        node, 3, lambda array: array.transpose(order).copy(), lambda x: relax.permute_dims(x, axes=order)
    )
    return _convolve(node, relax.nn.conv2d, weight, kernel, channels, data_layout="NHWC", kernel_layout="HWIO")


@register_tflite("CONV_3D")
def conv3d(node: TfliteNode) -> Outputs:
    *kernel, channels, _ = node.fixed_sizes(1, 5)
    weight = node.tensor(1)
    return _convolve(node, relax.nn.conv3d, weight, kernel, channels, data_layout="NDHWC", kernel_layout="DHWIO")


@register_tflite("DEPTHWISE_CONV_2D")
def depthwise_conv2d(node: TfliteNode) -> Outputs:
    """Convert a depthwise convolution. The weights have the shape [1, height, width, channels * filters]."""
    one, height, width, outputs = node.fixed_sizes(1, 4)
    spatial, depth = _image(node, 0, 4)
    if one != 1 or not depth or outputs % depth:
        raise node.fail(f"data of {depth} channels and weights {[one, height, width, outputs]} do not fit")
    shape = [height, width, outputs, 1]
    weight = _rearrange_weights(node, 2, lambda array: array.reshape(shape), lambda x: sizes.reshaped(x, shape))
    windows = windows_of(node, spatial, (height, width))
    data, padding = _pad(node.value(0), windows)
    made = relax.nn.conv2d(
        data.ssa,
        weight,
        strides=windows.strides,
        padding=padding,
        dilation=windows.dilations,
        groups=depth,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )
    return with_bias(node, made, 2)


def _rearrange_weights(
    node: TfliteNode, axis: int, of_array: Callable[[Array], Array], of_tensor: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return the weights in another layout. Constants are rearranged at import.

    `axis` is the axis of the quantization scales in the new layout.
    """
    held = node.stored(1)
    if held.array is None:
        return of_tensor(node.tensor(1))
    value = Value(array=of_array(held.array))
    value.name = held.name
    return node.real(1, value, axis).ssa


def _convolve_transposed(
    node: TfliteNode, function: Callable[..., Tensor], kernel: Sequence[int], channels: int, **layout: str
) -> Tensor:
    """Convert a transposed convolution of the operands result shape, weights and data.

    The convolution crops its full result to the requested shape.
    """
    spatial, depth = _image(node, 2, len(kernel) + 2)
    wanted = node.sizes_in(0)
    if depth != channels or len(wanted) != len(kernel) + 2:
        raise node.fail(f"data of {depth} channels, weights of {channels} and {len(wanted)} sizes do not fit")
    strides = [node.attr(f"stride_{name}") for name in _AXES[len(kernel)]]
    if min(*strides, *kernel) < 1:
        raise node.fail("sizes of the kernel and strides must be at least 1")
    sides = []
    for size, result, taps, stride in zip(spatial, wanted[1:-1], kernel, strides, strict=True):
        before, _ = added(node, result, taps, stride)
        whole = sizes.plus(sizes.times(sizes.minus(size, 1), stride), taps)
        sides.append((before, sizes.minus(sizes.minus(whole, before), result)))
    if not all(isinstance(each, int) for side in sides for each in side):
        raise node.fail("the cropping of its result is not known at import")
    padding = [max(side[place], 0) for place in (0, 1) for side in sides]
    made = function(node.tensor(2), node.tensor(1), strides=strides, padding=padding, **layout)
    more = [max(-side, 0) for pair in sides for side in pair]
    made = relax.nn.pad(made, pad_width=[0, 0, *more, 0, 0]) if any(more) else made
    return with_bias(node, made, 3)


@register_tflite("TRANSPOSE_CONV")
def transpose_conv(node: TfliteNode) -> Outputs:
    _, *kernel, channels = node.fixed_sizes(1, 4)
    return _convolve_transposed(
        node, relax.nn.conv2d_transpose, kernel, channels, data_layout="NHWC", kernel_layout="OHWI"
    )


@register_tflite("CONV_3D_TRANSPOSE")
def conv3d_transpose(node: TfliteNode) -> Outputs:
    *kernel, _, channels = node.fixed_sizes(1, 5)
    return _convolve_transposed(
        node, relax.nn.conv3d_transpose, kernel, channels, data_layout="NDHWC", kernel_layout="DHWOI"
    )
