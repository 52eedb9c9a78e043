# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what moving elements is made of: copies, views of other shapes (tensors.py), sums and products of sizes.

Sizes are numbers where they are known, else index values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from . import linalg, scalar, tensors
from .loops import index

Size = Union[int, Any]  # noqa: UP007  # evaluated when the module is imported


def plus(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return scalar.add(index(left), index(right), "index")


def minus(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    return scalar.subtract(index(left), index(right), "index")


def times(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return scalar.multiply(index(left), index(right), "index")


def divided(size: Size, divisor: Size) -> Size:
    """Rounded down."""
    if isinstance(size, int) and isinstance(divisor, int):
        return size // divisor
    return scalar.create("arith.divui", index(size), index(divisor))


def lesser(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return scalar.minimum(index(left), index(right), "index")


def greater(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    return scalar.maximum(index(left), index(right), "index")


def product(sizes: Sequence[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = times(total, size)
    return total


def copy(source: Any, output: Any, dims: Sequence[int | None] | None = None) -> Any:
    """The output, each element read from the source at these dimensions of its own place; None reads at 0."""
    rank = linalg.rank_of(output)
    read = linalg.identity(rank) if dims is None else linalg.select_dims(rank, dims)
    parallel = [linalg.PARALLEL] * rank
    return linalg.generic([source], [output], [read, linalg.identity(rank)], parallel, lambda x, _: x)[0]


def merged(tensor: Any, counts: Sequence[int]) -> Any:
    """The tensor with runs of so many dimensions, one at least, each made one."""
    for position in reversed(range(len(counts))):
        if counts[position] > 1:
            tensor = tensors.merge(tensor, sum(counts[:position]), counts[position])
    return tensor


def split(tensor: Any, parts: Sequence[Sequence[Size]]) -> Any:
    """The tensor with each dimension as several of these sizes, one at least, which multiply to its own."""
    for axis in reversed(range(len(parts))):
        if len(parts[axis]) > 1:
            tensor = tensors.split(tensor, axis, parts[axis])
    return tensor
