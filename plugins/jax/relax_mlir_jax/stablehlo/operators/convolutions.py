# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions in any layout, with dilated data (transposed convolutions) and with taps in any order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from relax_mlir.frontends.core.complex_numbers import Pair, multiplied

from ..hlo_types import is_complex
from ..prelude import HloNode, Outputs, Tensor, Value, cast, known, register_stablehlo, relax, sizes
from .reshaping import with_padding

_LAYOUT = re.compile(r"\[(.*?)\]x\[(.*?)\]->\[(.*?)\]")


class ConvolutionDims(NamedTuple):
    """Positions of the dimensions: the two named dimensions, then the spatial dimensions in order."""

    data: list[int]
    weight: list[int]
    result: list[int]


def _layout(node: HloNode) -> ConvolutionDims:
    """Return batch and features of data and result, output and input features of the weight."""
    if (match := _LAYOUT.search(str(node.operation.attributes["dimension_numbers"]))) is None:
        raise node.fail("its dimension numbers cannot be read", "dimension_numbers")
    data, weight, result = ([word.strip() for word in part.split(",")] for part in match.groups())
    spatial = [str(axis) for axis in range(len(data) - 2)]
    return ConvolutionDims(
        [data.index(name) for name in ("b", "f", *spatial)],
        [weight.index(text) for text in ("o", "i", *spatial)],
        [result.index(name) for name in ("b", "f", *spatial)],
    )


@register_stablehlo("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(node: HloNode) -> Outputs:
    info = node.info
    if info.shape and 0 in info.shape:  # windows are larger than the data
        empty = sizes.zeros(node.static_shape(), node.dtype)
        return Pair(empty, empty).value() if is_complex(node.result_types[0]) else empty
    layout = _layout(node)
    padding = _padding(node, len(layout.data) - 2)

    def convolve(data: Tensor, weight: Tensor) -> Tensor:
        return _convolve(node, layout, data, weight, padding)

    if is_complex(node.result_types[0]):
        return multiplied(Pair(*node.pair(0)), Pair(*node.pair(1)), convolve).value()
    return convolve(node.tensor(0), node.tensor(1))


def _padding(node: HloNode, count: int) -> list[tuple[sizes.Size, sizes.Size]]:
    if node.op == "stablehlo.dynamic_conv":
        if (elements := node.value(2).elements) is None:
            wide = cast(relax.flatten(node.tensor(2)), "i64")
            found = [sizes.element(wide, place) for place in range(2 * count)]
        else:
            found = list(elements.ravel())
        return [(found[2 * axis], found[2 * axis + 1]) for axis in range(count)]
    return [(pair[0], pair[1]) for pair in node.attr("padding", [[0, 0]] * count)]


def _convolve(
    node: HloNode,
    layout: ConvolutionDims,
    data: Tensor,
    weight: Tensor,
    padding: Sequence[tuple[sizes.Size, sizes.Size]],
) -> Tensor:
    count = len(padding)
    ones, spatial = [1] * count, layout.data[2:]
    data, weight = cast(data, node.dtype), cast(weight, node.dtype)
    if (transposed := _transposed_convolution(node, layout, data, weight, padding)) is not None:
        return transposed
    for axis, is_reversed in zip(layout.weight[2:], node.attr("window_reversal", [False] * count), strict=True):
        weight = relax.flip(weight, axis=axis) if is_reversed else weight
    gaps = [dilation - 1 for dilation in node.attr("lhs_dilation", ones)]
    numbers = [size for pair in padding for size in pair]
    if any(gaps) or not all(isinstance(number, int) and number >= 0 for number in numbers):
        pairs = dict(zip(spatial, padding, strict=True))
        low, high = ([pairs.get(axis, (0, 0))[side] for axis in range(count + 2)] for side in (0, 1))
        interior = dict(zip(spatial, gaps, strict=True))
        data = with_padding(data, known(0), low, high, [interior.get(axis, 0) for axis in range(count + 2)])
        numbers = [0] * (2 * count)
    settings = {
        "strides": node.attr("window_strides", ones)[:count],
        "padding": [*numbers[0::2], *numbers[1::2]],
        "dilation": node.attr("rhs_dilation", ones),
    }
    groups, of_batch = node.attr("feature_group_count", 1), node.attr("batch_group_count", 1)
    if of_batch != 1:
        groups, data = of_batch, _batch_as_features(data, layout.data, of_batch)
    if count == 0:
        return _convolve_without_dimensions(layout, data, weight, groups)
    if count > 3:
        raise node.fail(f"there are convolutions over up to 3 dimensions, not over {count}")
    letters = "DHW"[-count:]
    return relax.dialect.ops[f"nn.conv{count}d"](
        data,
        weight,
        groups=groups,
        data_layout=_write_layout("NC" + letters, layout.data),
        kernel_layout=_write_layout("OI" + letters, layout.weight),
        out_layout=_write_layout("NC" + letters, layout.result),
        **settings,
    )


def _transposed_convolution(
    node: HloNode,
    layout: ConvolutionDims,
    data: Tensor,
    weight: Tensor,
    padding: Sequence[tuple[sizes.Size, sizes.Size]],
) -> Tensor | None:
    """Return a convolution of dilated data as a transposed convolution, or None. It skips the zeros in between."""
    count = len(padding)
    ones, letters = [1] * count, "DHW"[-count:]
    gaps = node.attr("lhs_dilation", ones)
    others = ("window_strides", "rhs_dilation")
    if max(gaps, default=1) == 1 or count > 3 or any(node.attr(name, ones)[:count] != ones for name in others):
        return None
    if node.attr("feature_group_count", 1) != 1 or node.attr("batch_group_count", 1) != 1:
        return None
    taps = [sizes.sizes_of(Value(ssa=weight))[axis] for axis in layout.weight[2:]]
    if not all(isinstance(size, int) for size in (*taps, *(side for pair in padding for side in pair))):
        return None
    before, after = ([taps[axis] - 1 - padding[axis][side] for axis in range(count)] for side in (0, 1))
    extra = [max(-rest, 0) for rest in after]
    if min(before) < 0 or any(more >= gap for more, gap in zip(extra, gaps, strict=True)):
        return None
    for axis, is_reversed in zip(layout.weight[2:], node.attr("window_reversal", [False] * count), strict=True):
        weight = weight if is_reversed else relax.flip(weight, axis=axis)
    return relax.dialect.ops[f"nn.conv{count}d_transpose"](
        data,
        weight,
        strides=gaps,
        padding=[*before, *(max(rest, 0) for rest in after)],
        output_padding=extra,
        data_layout=_write_layout("NC" + letters, layout.data),
        kernel_layout=_write_layout("OI" + letters, layout.weight),
        out_layout=_write_layout("NC" + letters, layout.result),
    )


def _write_layout(letters: str, places: Sequence[int]) -> str:
    """Return a layout with each letter at its position."""
    return "".join(letter for _, letter in sorted(zip(places, letters, strict=True)))


def _batch_as_features(data: Tensor, places: Sequence[int], groups: int) -> Tensor:
    """Move groups of the batch to groups of features, in front of the features of a group. Each has its own weights."""
    own, (batch, features) = sizes.sizes_of(Value(ssa=data)), places[:2]
    count = sizes.divided(own[batch], groups)
    apart = sizes.reshaped(data, [*own[:batch], groups, count, *own[batch + 1 :]])
    # The dimension of groups moves from the front of the batch to the front of the features.
    order = [axis if axis < batch else axis + 1 for axis in range(len(own))]
    order.insert(order.index(features if features < batch else features + 1), batch)
    moved = relax.permute_dims(apart, axes=order)
    own[batch], own[features] = count, sizes.times(own[features], groups)
    return sizes.reshaped(moved, own)


def _convolve_without_dimensions(layout: ConvolutionDims, data: Tensor, weight: Tensor, groups: int) -> Tensor:
    """Convert a convolution without spatial dimensions, which is a product of matrices."""
    made = relax.nn.conv1d(
        relax.expand_dims(data, axis=[2]),
        relax.expand_dims(weight, axis=[2]),
        groups=groups,
        data_layout=_write_layout("NC", layout.data) + "W",
        kernel_layout=_write_layout("OI", layout.weight) + "W",
        out_layout=_write_layout("NC", layout.result) + "W",
    )
    return relax.squeeze(made, axis=[2])
