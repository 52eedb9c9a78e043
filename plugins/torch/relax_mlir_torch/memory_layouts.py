# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory layouts of torch tensors, from sizes and strides, which may be expressions. Nothing here adds a guard."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any


def expression_of(size: Any) -> Any:
    """Return a size as a number or a sympy expression. torch writes max(1, n) for n in strides."""
    if isinstance(size, (int, float)):
        return size
    expr = size.node.expr if hasattr(size, "node") else size
    return expr.replace(_is_at_least_one, lambda each: next(part for part in each.args if part != 1))


def _is_at_least_one(expression: Any) -> bool:
    return type(expression).__name__ == "Max" and len(expression.args) == 2 and 1 in expression.args


def is_same(left: object, right: object) -> bool:
    """Check whether two sizes are equal for all values of their symbols, without a guard."""
    difference = expression_of(left) - expression_of(right)
    return bool(difference == 0 if isinstance(difference, int) else difference.expand() == 0)


def are_same(left: Sequence[object], right: Sequence[object]) -> bool:
    """Check whether sizes are equal in pairs for all values of their symbols."""
    return len(left) == len(right) and all(map(is_same, left, right))


def contiguous_strides(sizes: Sequence[object]) -> list[Any]:
    """Return the strides of a contiguous tensor. Empty dimensions count as 1, as in torch."""
    counted = [1 if isinstance(size, int) and size == 0 else size for size in sizes]
    return [prod(map(expression_of, counted[dim + 1 :])) for dim in range(len(counted))]


def memory_order(meta: Any) -> Sequence[int] | None:
    """Return the dimensions of a tensor from the outermost one in memory to the innermost one.

    Return None if the elements are not adjacent in memory in any order of the dimensions.
    """
    if any(isinstance(size, int) and size == 0 for size in meta.shape):
        return range(meta.dim())
    left = [dim for dim, size in enumerate(meta.shape) if not (isinstance(size, int) and size == 1)]
    inner: list[int] = []
    stride: Any = 1
    while left:
        dim = next((each for each in reversed(left) if is_same(meta.stride(each), stride)), None)
        if dim is None:
            return None
        left.remove(dim)
        inner.insert(0, dim)
        stride = stride * expression_of(meta.shape[dim])
    if inner == sorted(inner):
        return range(meta.dim())
    return [*(dim for dim in range(meta.dim()) if dim not in inner), *inner]


def is_dense(meta: Any) -> bool:
    """Check whether a tensor fills the whole memory of its storage, in some order of its dimensions."""
    elements = meta.untyped_storage().nbytes() // meta.element_size()
    begins, fills = is_same(meta.storage_offset(), 0), is_same(elements, meta.numel())
    return begins and fills and memory_order(meta) is not None


def may_overlap(meta: Any) -> bool:
    """Check whether several elements of a tensor may be in the same memory."""
    dims = [dim for dim, size in enumerate(meta.shape) if not (isinstance(size, int) and size <= 1)]
    strides = [meta.stride(dim) for dim in dims]
    if not all(isinstance(each, int) for each in (*strides, *meta.shape)):
        return True
    reached = 0
    for stride, dim in sorted(zip(strides, dims, strict=True)):
        if stride <= reached:
            return True
        reached += stride * (meta.shape[dim] - 1)
    return False
