# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of matrix products."""

from __future__ import annotations

from ..prelude import Outputs, Tensor, TfliteNode, Value, register_tflite, relax, sizes
from .convolutions import with_bias

#: Format of weights that are signed bytes in blocks of 4 rows and 16 columns.
_SHUFFLED = 1


@register_tflite("FULLY_CONNECTED")
def fully_connected(node: TfliteNode) -> Outputs:
    """Convert FULLY_CONNECTED: the product of rows of the data and rows of the weights [outputs, inputs]."""
    outputs, inputs = node.fixed_sizes(1, 2)
    own = node.sizes_of(0)
    data = node.tensor(0)
    if not node.attr("keep_num_dims", False) and len(own) != 2:
        data = sizes.reshaped(data, [sizes.divided(sizes.product(own), inputs), inputs])
    return with_bias(node, relax.matmul(data, relax.permute_dims(_weights(node, outputs, inputs), axes=[1, 0])), 2)


def _weights(node: TfliteNode, outputs: int, inputs: int) -> Tensor:
    if node.attr("weights_format", 0) != _SHUFFLED:
        return node.tensor(1)
    array = node.stored(1).array
    if array is None or outputs % 4 or inputs % 16 or array.dtype.name not in ("uint8", "int8"):
        raise node.fail("shuffled weights must be constant bytes in blocks of 4 by 16", "weights_format")
    blocks = array.reshape(outputs // 4, inputs // 16, 4, 16).transpose(0, 2, 1, 3).reshape(outputs, inputs)
    return node.real(1, Value(array=(blocks.view("uint8") ^ 0x80).view(array.dtype)), 0).ssa


@register_tflite("BATCH_MATMUL")
def batch_matmul(node: TfliteNode) -> Outputs:
    sides = [_transpose(node, index, node.attr(name, False)) for index, name in enumerate(("adj_x", "adj_y"))]
    return relax.matmul(*sides)


def _transpose(node: TfliteNode, index: int, is_transposed: bool) -> Tensor:
    x, rank = node.tensor(index), node.rank(index)
    return x if not is_transposed else relax.permute_dims(x, axes=[*range(rank - 2), rank - 1, rank - 2])
