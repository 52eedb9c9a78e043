# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion of other tensors into a step, as its bias or as operands of post-ops."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.core.symbols import Dim, equal

from .runtime.description import Argument, PrimitiveStep, Size, Value

ADD = 131056
#: Kinds of steps with primitives that support post-ops.
WITH_POST_OPS = frozenset({"convolution", "deconvolution", "inner_product", "matmul", "pooling", "binary", "eltwise",
                           "reduction", "softmax"})  # fmt: skip
PRODUCTS = frozenset({"convolution", "deconvolution", "inner_product", "matmul"})
#: oneDNN itself supports 32.
MOST_POST_OPS = 16


def view_operand(
    views: Sequence[tuple[str, tuple[Size, ...]]], other: Argument, dims: Sequence[Dim], result: Sequence[Dim]
) -> Argument | None:
    """Apply a step's views of its result to another operand. Return None if the operand has no such views."""
    for kind, parameters in views:
        if kind == "permute":
            other = Argument(other.value, (*other.views, (kind, parameters)))
            dims = [dims[int(axis)] for axis in parameters]
            result = [result[int(axis)] for axis in parameters]
        elif all(equal(*pair) is True for pair in zip(dims, result, strict=True)):
            other = Argument(other.value, (*other.views, (kind, parameters)))
            dims = result = ()
        elif all(size == 1 for size in dims[:-1]):
            # The operand is one row, and the reshape only merges or splits rows: the last size is unchanged.
            last = dims[-1]
            if not isinstance(last, int) or (last != 1 and parameters[-1] != last):
                return None
            shape = (*(1 for _ in parameters[:-1]), last)
            other = Argument(other.value, (*other.views, ("reshape", shape)))
            dims = result = shape
        else:
            return None
    return other


def bias_of(step: PrimitiveStep, other: Argument, values: Sequence[Value]) -> Argument | None:
    """Return an added operand as the bias of a step, or None if it is not one f32 number per channel."""
    if step.kind not in PRODUCTS or step.post_ops or "bias" in step.arguments:
        return None
    sizes = _viewed_sizes(other, values)
    channel = 1 if "convolution" in step.kind else len(sizes) - 1
    count = sizes[channel] if sizes else 1
    if not isinstance(count, int) or any(size != 1 for axis, size in enumerate(sizes) if axis != channel):
        return None
    if channels_of(step, values) != count or values[other.value].dtype != "f32":
        return None
    if step.kind == "matmul":
        return other
    return Argument(other.value, (*other.views, ("reshape", (count,))))


def channels_of(step: PrimitiveStep, values: Sequence[Value]) -> Size | None:
    """Return the number of channels of a step's result, or None for a scalar result."""
    sizes = _viewed_sizes(step.result, values)
    return sizes[1 if "convolution" in step.kind else len(sizes) - 1] if sizes else None


def _viewed_sizes(argument: Argument, values: Sequence[Value]) -> tuple[Size, ...]:
    sizes = values[argument.value].dims
    for kind, parameters in argument.views:
        sizes = tuple(sizes[int(axis)] for axis in parameters) if kind == "permute" else parameters
    return sizes
