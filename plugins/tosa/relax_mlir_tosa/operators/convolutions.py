# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and matrix products. Integers have zero points, and are computed in a wide type."""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects.core.infos import is_float

from ..prelude import Outputs, Tensor, TosaNode, cast, register_tosa, relax, sizes
from .quantization import block_size, centered, difference_type, unblocked


def _operands(node: TosaNode, zeros: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Return both operands in one element type, without their zero points, which are operands at the positions
    `zeros`."""
    dtypes = [node.value(index).dtype for index in (0, 1)]
    if is_float(dtypes[0]):
        return node.tensor(0), node.tensor(1)
    tensors = [
        centered(node.tensor(index), node, zero, difference_type(dtype))
        for index, zero, dtype in zip((0, 1), zeros, dtypes, strict=True)
    ]
    widest = max((tensor.type.element_type.width, index) for index, tensor in enumerate(tensors))[1]
    dtype = str(tensors[widest].type.element_type)
    return cast(tensors[0], dtype), cast(tensors[1], dtype)


def _accumulator(node: TosaNode) -> str:
    """Return the accumulator's type: i32, i64 for i48, or a float."""
    kind = node.attr("acc_type", "")
    return str(kind) if kind else "f32" if is_float(node.dtype) else node.dtype


def _with_bias(node: TosaNode, tensor: Tensor) -> Tensor:
    """Add the bias. The last dimension is the channel dimension."""
    return cast(relax.add(tensor, cast(node.tensor(2), str(tensor.type.element_type))), node.dtype)


def _settings(node: TosaNode, count: int) -> dict[str, Any]:
    pad = node.attr("pad")
    return {
        "strides": node.attr("stride"),
        "padding": [*pad[0::2], *pad[1::2]],
        "dilation": node.attr("dilation", [1] * count),
        "out_dtype": _accumulator(node),
    }


@register_tosa("tosa.conv2d")
def conv2d(node: TosaNode) -> Outputs:
    x, weight = _operands(node, (3, 4))
    made = relax.nn.conv2d(x, weight, **_settings(node, 2), data_layout="NHWC", kernel_layout="OHWI")
    return _with_bias(node, made)


@register_tosa("tosa.conv3d")
def conv3d(node: TosaNode) -> Outputs:
    x, weight = _operands(node, (3, 4))
    outputs = relax.nn.conv3d(x, weight, **_settings(node, 3), data_layout="NDHWC", kernel_layout="ODHWI")
    return _with_bias(node, outputs)


@register_tosa("tosa.depthwise_conv2d")
def depthwise_conv2d(node: TosaNode) -> Outputs:
    """Convert a depthwise convolution: each channel has its own filters, [height, width, channels, filters]."""
    x, weight = _operands(node, (3, 4))
    height, width, channels, filters = node.value(1).shape or ()
    if not isinstance(channels, int):
        raise node.fail("the number of channels is not known while the module is imported")
    weight = sizes.reshaped(weight, [height, width, sizes.times(channels, filters), 1])
    made = relax.nn.conv2d(x, weight, **_settings(node, 2), groups=channels, data_layout="NHWC", kernel_layout="HWOI")
    return _with_bias(node, made)


@register_tosa("tosa.transpose_conv2d")
def transpose_conv2d(node: TosaNode) -> Outputs:
    """Convert a transposed convolution. Padding applies to the result; negative padding is cut off."""
    x, weight = _operands(node, (3, 4))
    top, bottom, left, right = node.attr("out_pad")
    made = relax.nn.conv2d_transpose(
        x,
        weight,
        strides=node.attr("stride"),
        padding=[max(-side, 0) for side in (top, left, bottom, right)],
        data_layout="NHWC",
        kernel_layout="OHWI",
        out_dtype=_accumulator(node),
    )
    added = [max(side, 0) for side in (top, bottom, left, right)]
    made = relax.nn.pad(made, pad_width=[0, 0, *added, 0, 0]) if any(added) else made
    return _with_bias(node, made)


@register_tosa("tosa.conv2d_block_scaled")
def conv2d_block_scaled(node: TosaNode) -> Outputs:
    block = block_size(node)
    pad, strides, dilation = (node.known_shape(index) for index in (5, 6, 7))
    made = relax.nn.conv2d(
        unblocked(node, 0, 1, block),
        unblocked(node, 2, 3, block),
        strides=strides,
        padding=[*pad[0::2], *pad[1::2]],
        dilation=dilation,
        data_layout="NHWC",
        kernel_layout="OHWI",
    )
    return cast(relax.add(made, cast(node.tensor(4), "f32")), node.dtype)


@register_tosa("tosa.matmul")
def matmul(node: TosaNode) -> Outputs:
    a, b = _operands(node, (2, 3))
    return cast(relax.matmul(a, b, out_dtype=_accumulator(node)), node.dtype)


@register_tosa("tosa.matmul_t")
def matmul_t(node: TosaNode) -> Outputs:
    """Multiply by the transposed second matrix."""
    a, b = _operands(node, (2, 3))
    turned = relax.permute_dims(b, axes=[0, 2, 1])
    return cast(relax.matmul(a, turned, out_dtype=_accumulator(node)), node.dtype)
