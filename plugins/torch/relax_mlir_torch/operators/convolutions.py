# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of convolutions and transposed convolutions. An input without a batch gets one."""

from __future__ import annotations

from collections.abc import Sequence

from ..prelude import Outputs, Tensor, TorchNode, cast, info_of, register_torch, relax
from .products import sum_type


def per_dimension(node: TorchNode, key: str, count: int, default: int = 1) -> list[int]:
    """Return an argument with a number for each spatial dimension. A single number is repeated."""
    given = list(node.ints(key) or [default])
    return given * count if len(given) == 1 else given


@register_torch("aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::_convolution_mode")
def conv(node: TorchNode) -> Outputs:
    """Convert a convolution. Padding may be "valid", no padding, or "same", which keeps the sizes.

    With "same", an odd element of padding goes behind.
    """
    count = node.rank("weight") - 2
    if not isinstance(padding := node.get("padding"), str):
        return _convolve(node, per_dimension(node, "padding", count, 0) * 2)
    if padding == "valid":
        return _convolve(node, [0] * (2 * count))
    gaps = per_dimension(node, "dilation", count)
    sizes = (node.value("weight").shape or ())[2:]
    if not all(isinstance(size, int) for size in sizes):
        raise node.fail("the sizes of the weight's kernel must be known while the model is imported")
    totals = [gap * (taps - 1) for gap, taps in zip(gaps, sizes, strict=True)]
    return _convolve(node, [*(total // 2 for total in totals), *(total - total // 2 for total in totals)])


@register_torch("aten::convolution", "aten::_convolution", "aten::convolution_overrideable")
def convolution(node: TorchNode) -> Outputs:
    if node.bool("transposed"):
        return conv_transpose(node)
    return _convolve(node, per_dimension(node, "padding", node.rank("weight") - 2, 0) * 2)


@register_torch("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d")
def conv_transpose(node: TorchNode) -> Outputs:
    count = node.rank("weight") - 2
    extra = per_dimension(node, "output_padding", count, 0)
    return _convolve(node, per_dimension(node, "padding", count, 0) * 2, transposed=True, output_padding=extra)


@register_torch("aten::conv_tbc")
def conv_tbc(node: TorchNode) -> Outputs:
    """Convert conv_tbc: data [time, batch, channels], weight [taps, input channels, output channels]."""
    data = relax.permute_dims(node.tensor("self"), axes=[1, 2, 0])
    weight = relax.permute_dims(node.tensor("weight"), axes=[2, 1, 0])
    made = relax.nn.conv1d(data, weight, padding=[node.int("pad", 0)] * 2, out_dtype=sum_type(node.dtype))
    bias = node.tensor("bias", info_of(made).dtype)
    return cast(relax.add(relax.permute_dims(made, axes=[2, 0, 1]), bias), node.dtype)


def _convolve(node: TorchNode, padding: Sequence[int], transposed: bool = False, **settings: object) -> Tensor:
    count = node.rank("weight") - 2
    if not 1 <= count <= 3:
        raise node.fail(f"convolutions are over 1, 2 or 3 dimensions, not over {count}")
    data, has_batch = node.tensor("input", node.dtype), node.rank("input") == count + 2
    made = relax.dialect.ops[f"nn.conv{count}d{'_transpose' if transposed else ''}"](
        data if has_batch else relax.expand_dims(data, axis=[0]),
        node.tensor("weight", node.dtype),
        strides=per_dimension(node, "stride", count),
        padding=padding,
        dilation=per_dimension(node, "dilation", count),
        groups=node.int("groups", 1),
        out_dtype=sum_type(node.dtype) if node.has("bias") else None,
        **settings,
    )
    if node.has("bias"):
        bias = relax.expand_dims(node.tensor("bias", info_of(made).dtype), axis=list(range(1, count + 1)))
        made = cast(relax.add(made, bias), node.dtype)
    return made if has_batch else relax.squeeze(made, axis=[0])
