# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of convolutions, transposed convolutions, and convolutions of quantized tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Value
from ....dialects.core.symbols import Dim, dim_add, dim_mul, dim_sub
from ....support.suggest import counted
from ..prelude import OnnxNode, Outputs, Tensor, info_of, register_onnx, relax
from .products import as_f32, requantized, shifted, with_bias
from .sliding_windows import auto_pad, kernel_of, padded, per_dimension, spatial_sizes, windows_of, with_same_sizes


@register_onnx("", "Conv")
def conv(node: OnnxNode) -> Outputs:
    result = _convolve(node, node.tensor(0), node.tensor(1), 0, 1)
    return _with_bias(node, result, 2) if node.has(2) else result


@register_onnx("", "ConvInteger")
def conv_integer(node: OnnxNode) -> Outputs:
    return _convolve(node, shifted(node, 0, 2), _shift_weight(node, 1, 3), 0, 1, out_dtype="i32")


@register_onnx("", "QLinearConv")
def qlinear_conv(node: OnnxNode) -> Outputs:
    """Convert QLinearConv.

    The inputs are data, scale and zero point; the same for the weight; the result's scale and zero point; a 32-bit
    bias.
    """
    data, weight = shifted(node, 0, 2), _shift_weight(node, 3, 5)
    sums = _convolve(node, data, weight, 0, 3, out_dtype="i32")
    if node.has(8):
        sums = _with_bias(node, sums, 8)
    scale = relax.multiply(as_f32(node, 1), as_f32(node, 4))
    real = relax.astype(sums, dtype="f32")
    scaled = relax.multiply(real, scale if node.rank(4) == 0 else _per_channel(node, scale))
    return requantized(node, scaled, 6, 7)


def _shift_weight(node: OnnxNode, index: int, zero_point: int) -> Value:
    """Return the weight minus its zero point, or minus the zero point of each output channel."""
    several = node.has(zero_point) and node.rank(zero_point) > 0
    return shifted(node, index, zero_point, node.rank(index) - 1 if several else 0)


def _convolve(
    node: OnnxNode, data: Tensor, weight: Tensor, data_index: int, weight_index: int, out_dtype: str | None = None
) -> Value:
    windows = windows_of(node, kernel_of(node, weight_index), data_index)
    # Subtraction of a zero point changes the data's type.
    dtype = node.value(data_index).dtype if out_dtype is None else info_of(data).dtype
    data, pads = padded(data, windows, 0, dtype)
    result = relax.dialect.ops[f"nn.conv{_dimensions(node, len(windows.kernel))}d"](
        data,
        weight,
        strides=windows.strides,
        padding=pads,
        dilation=windows.dilations,
        groups=node.int("group", 1),
        out_dtype=out_dtype,
    )
    return with_same_sizes(node, result, windows)


def _dimensions(node: OnnxNode, count: int) -> int:
    if count > 3:
        raise node.fail(f"convolutions are over 1, 2 or 3 dimensions, not over {count}")
    return count


def _with_bias(node: OnnxNode, result: Tensor, bias: int) -> Tensor:
    return with_bias(node, result, bias, _per_channel(node, node.tensor(bias)))


def _per_channel(node: OnnxNode, values: Tensor) -> Tensor:
    """Reshape a value per channel to broadcast with the data. Channels are the second dimension."""
    return relax.expand_dims(values, axis=list(range(1, node.rank(0) - 1)))


@register_onnx("", "ConvTranspose")
def conv_transpose(node: OnnxNode) -> Outputs:
    sizes, kernel = spatial_sizes(node), kernel_of(node, 1)
    count = _dimensions(node, len(sizes))
    if len(kernel) != count:
        raise node.fail(
            f"the weight's kernel has {counted(len(kernel), 'dimension')}, the data {count} behind its channels"
        )
    strides, dilations = per_dimension(node, "strides", count), per_dimension(node, "dilations", count)
    before, after, extra = _transposed_pads(node, sizes, kernel, strides, dilations)
    # The operator takes less output padding than a stride. The rest is zero padding behind, or before for negative
    # pads.
    inner = [min(each, max(steps) - 1) for each, steps in zip(extra, zip(strides, dilations, strict=True), strict=True)]
    result = relax.dialect.ops[f"nn.conv{count}d_transpose"](
        node.tensor(0),
        node.tensor(1),
        strides=strides,
        padding=[max(each, 0) for each in (*before, *after)],
        output_padding=inner,
        dilation=dilations,
        groups=node.int("group", 1),
    )
    sides = [
        side
        for low, high, more, used in zip(before, after, extra, inner, strict=True)
        for side in (max(-low, 0), max(-high, 0) + more - used)
    ]
    if any(sides):
        result = relax.nn.pad(result, pad_width=[0, 0, 0, 0, *sides])
    return _with_bias(node, result, 2) if node.has(2) else result


def _transposed_pads(
    node: OnnxNode, sizes: Sequence[Dim], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return the removed elements before and after along each dimension, and the added elements behind."""
    count = len(kernel)
    extra = list(per_dimension(node, "output_padding", count, 0))
    mode, wanted = auto_pad(node), node.ints("output_shape")
    if wanted and len(wanted) == count + 2:
        wanted = wanted[2:]  # The first models stated batch and channels, too.
    if wanted and len(wanted) != count:
        raise node.fail(f"'output_shape' has {len(wanted)} numbers for {counted(count, 'dimension')}", "output_shape")
    if not wanted and mode in ("NOTSET", "VALID"):
        pads = per_dimension(node, "pads", 2 * count, 0) if mode == "NOTSET" else (0,) * (2 * count)
        return list(pads[:count]), list(pads[count:]), extra
    before, after = [], []
    for axis, (size, taps) in enumerate(zip(sizes, kernel, strict=True)):
        stride, gap = strides[axis], dilations[axis]
        # Each window but the first adds a stride to the size. With 'auto_pad', the first window does, too.
        removed: Dim = (taps - 1) * gap + 1 - stride + extra[axis]
        if wanted:
            removed = dim_sub(dim_add(dim_mul(size, stride), removed), wanted[axis])
        if not isinstance(removed, int):
            raise node.fail("the input's sizes must be known for 'output_shape'", "output_shape")
        total = max(removed, 0)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
        extra[axis] += max(-removed, 0)
    return before, after, extra
