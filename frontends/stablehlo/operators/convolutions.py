# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions in any layout, of data with gaps (transposed ones) and of taps in any order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...core.complex_numbers import Pair, multiplied
from ..hlo_types import is_complex
from ..prelude import Node, Outputs, Tensor, Value, cast, known, register_stablehlo, relax, sizes
from .reshaping import with_padding

_LAYOUT = re.compile(r"\[(.*?)\]x\[(.*?)\]->\[(.*?)\]")


class ConvolutionDims(NamedTuple):
    """Where the dimensions are: the two named ones, then the spatial ones in their order."""

    data: list[int]
    weight: list[int]
    result: list[int]


def _layout(node: Node) -> ConvolutionDims:
    """Batch and features of data and result, output and input features of the weight."""
    found = _LAYOUT.search(str(node.operation.attributes["dimension_numbers"]))
    if found is None:
        raise node.fail("its dimension numbers cannot be read", "dimension_numbers")
    data, weight, result = ([each.strip() for each in part.split(",")] for part in found.groups())
    spatial = [str(axis) for axis in range(len(data) - 2)]
    return ConvolutionDims(
        [data.index(each) for each in ("b", "f", *spatial)],
        [weight.index(each) for each in ("o", "i", *spatial)],
        [result.index(each) for each in ("b", "f", *spatial)],
    )


@register_stablehlo("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(node: Node) -> Outputs:
    info = node.info
    if info.shape and 0 in info.shape:  # windows that are larger than the data
        empty = sizes.zeros(node.static_shape(), node.dtype)
        return Pair(empty, empty).value() if is_complex(node.result_types[0]) else empty
    layout = _layout(node)
    count = len(layout.data) - 2
    padding = _padding(node, count)

    def convolve(data: Tensor, weight: Tensor) -> Tensor:
        return _convolved(node, layout, data, weight, padding)

    if is_complex(node.result_types[0]):
        return multiplied(Pair(*node.pair(0)), Pair(*node.pair(1)), convolve).value()
    return convolve(node.tensor(0), node.tensor(1))


def _padding(node: Node, count: int) -> list[tuple[sizes.Size, sizes.Size]]:
    if node.op == "stablehlo.dynamic_conv":
        elements = node.value(2).elements
        if elements is None:
            wide = cast(relax.flatten(node.tensor(2)), "i64")
            found = [sizes.element(wide, place) for place in range(2 * count)]
        else:
            found = list(elements.ravel())
        return [(found[2 * axis], found[2 * axis + 1]) for axis in range(count)]
    return [(pair[0], pair[1]) for pair in node.attr("padding", [[0, 0]] * count)]


def _convolved(
    node: Node, layout: ConvolutionDims, data: Tensor, weight: Tensor, padding: Sequence[tuple[sizes.Size, sizes.Size]]
) -> Tensor:
    count = len(padding)
    ones = [1] * count
    data = _ordered(cast(data, node.dtype), layout.data)
    weight = _ordered(cast(weight, node.dtype), layout.weight)
    for axis, is_reversed in enumerate(node.attr("window_reversal", [False] * count)):
        weight = relax.flip(weight, axis=axis + 2) if is_reversed else weight
    gaps = [dilation - 1 for dilation in node.attr("lhs_dilation", ones)]
    numbers = [each for pair in padding for each in pair]
    if any(gaps) or not all(isinstance(each, int) and each >= 0 for each in numbers):
        zero = known(0)
        low, high = ([0, 0, *(pair[side] for pair in padding)] for side in (0, 1))
        data = with_padding(data, zero, low, high, [0, 0, *gaps])
        numbers = [0] * (2 * count)
    made = _by_groups(
        node,
        data,
        weight,
        strides=node.attr("window_strides", ones)[:count],
        padding=[*numbers[0::2], *numbers[1::2]],
        dilation=node.attr("rhs_dilation", ones),
    )
    back = [layout.result.index(axis) for axis in range(count + 2)]
    return made if back == sorted(back) else relax.permute_dims(made, axes=back)


def _ordered(x: Tensor, order: Sequence[int]) -> Tensor:
    return x if list(order) == sorted(order) else relax.permute_dims(x, axes=list(order))


def _by_groups(node: Node, data: Tensor, weight: Tensor, **settings: list[int]) -> Tensor:
    """Groups of features; groups of the batch become groups of features, each with its own part of the weight."""
    groups, of_batch = node.attr("feature_group_count", 1), node.attr("batch_group_count", 1)
    if of_batch == 1:
        return _of_dimensions(data, weight, groups=groups, **settings)
    own = sizes.sizes_of(Value(ssa=data))
    batch = sizes.divided(own[0], of_batch)
    apart = sizes.reshaped(data, [of_batch, batch, *own[1:]])
    order = [1, 0, *range(2, len(own) + 1)]
    as_features = sizes.reshaped(
        relax.permute_dims(apart, axes=order), [batch, sizes.times(own[1], of_batch), *own[2:]]
    )
    return _of_dimensions(as_features, weight, groups=of_batch, **settings)


def _of_dimensions(data: Tensor, weight: Tensor, groups: int, **settings: list[int]) -> Tensor:
    """Over 1, 2 and 3 dimensions by relax's; over none a product of matrices."""
    count = data.type.rank - 2
    if 1 <= count <= 3:
        return relax.dialect.ops[f"nn.conv{count}d"](data, weight, groups=groups, **settings)
    if count:
        raise ValueError(f"there are convolutions over up to 3 dimensions, not over {count}")
    made = relax.nn.conv1d(relax.expand_dims(data, axis=[2]), relax.expand_dims(weight, axis=[2]), groups=groups)
    return relax.squeeze(made, axis=[2])
