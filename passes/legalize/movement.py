# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what moving elements is made of: copies, views of other shapes (tensors.py), sums and products of sizes.

Sizes are numbers where they are known, else index values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Union

from ...bindings.mlir import ir
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
    """The tensor with each dimension as several of these sizes, one at least, which multiply to its own.

    Where one side's type does not tell a size that the other's does, what is known is true of both.
    """
    shape = [
        own if len(part) == 1 else _static_product(part) for own, part in zip(tensor.type.shape, parts, strict=True)
    ]
    tensor = cast(tensor, shape)
    for axis in reversed(range(len(parts))):
        if len(parts[axis]) > 1:
            tensor = tensors.split(tensor, axis, parts[axis])
    return tensor


def _static_product(sizes: Sequence[Size]) -> int:
    """The product as a type has it."""
    known = [size for size in sizes if isinstance(size, int)]
    return prod(known) if len(known) == len(sizes) else ir.ShapedType.get_dynamic_size()


def cast(tensor: Any, shape: Sequence[int]) -> Any:
    """The tensor with a type that knows more or less of its sizes."""
    type_ = ir.RankedTensorType.get(list(shape), tensor.type.element_type)
    if tensor.type == type_:
        return tensor
    return ir.Operation.create("tensor.cast", results=[type_], operands=[tensor]).result
