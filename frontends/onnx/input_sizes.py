# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Node inputs that list sizes: numbers and expressions if they are known, else tensors (core/sizes.py)."""

from __future__ import annotations

from ..core.sizes import Size, element
from .prelude import OnnxNode, Tensor, cast, relax

_MOST_SIZES = 1024


def input_sizes(node: OnnxNode, index: int) -> list[Size]:
    """Return the elements of an input that lists sizes."""
    if (known := node.sizes(index)) is not None:
        return list(known)
    return [element(integers(node, index), place) for place in range(input_length(node, index))]


def input_size(node: OnnxNode, index: int) -> Size:
    """Return the only element of an input that is one size."""
    if (length := input_length(node, index)) != 1:
        raise node.fail(f"input #{index} must be one number, not {length}")
    return input_sizes(node, index)[0]


def input_length(node: OnnxNode, index: int) -> int:
    """Return the number of elements of an input that lists sizes."""
    shape = node.value(index).shape
    if shape is None or len(shape) > 1 or not all(isinstance(size, int) for size in shape):
        raise node.fail(f"the number of elements of input #{index} is not known")
    length = int(shape[0]) if shape else 1
    if length > _MOST_SIZES:
        raise node.fail(f"input #{index} lists {length} numbers, no tensor has as many dimensions")
    return length


def integers(node: OnnxNode, index: int) -> Tensor:
    """Return an input as a 1-D tensor of 64-bit integers."""
    tensor = node.tensor(index)
    return cast(tensor if node.value(index).rank == 1 else relax.reshape(tensor, (-1,)), "i64")
