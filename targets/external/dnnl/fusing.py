# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step can do with its result: biases, and other tensors as post-ops."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols import Dim, equal
from ....runtime.external.dnnl.description import Argument, Size, Step, Value

ADD = 131056
#: Steps whose primitives have post-ops.
WITH_POST_OPS = frozenset({"convolution", "deconvolution", "inner_product", "matmul", "pooling", "binary", "eltwise",
                           "reduction", "softmax"})  # fmt: skip
PRODUCTS = frozenset({"convolution", "deconvolution", "inner_product", "matmul"})
#: oneDNN takes 32.
MOST_POST_OPS = 16


def seen_as(
    views: Sequence[tuple[str, tuple[Size, ...]]], other: Argument, dims: Sequence[Dim], result: Sequence[Dim]
) -> Argument | None:
    """Another operand by the views that a step has of its result; None where it has no such view."""
    for kind, given in views:
        if kind == "permute":
            other = Argument(other.value, (*other.views, (kind, given)))
            dims = [dims[int(axis)] for axis in given]
            result = [result[int(axis)] for axis in given]
        elif all(equal(*pair) is True for pair in zip(dims, result, strict=True)):
            other = Argument(other.value, (*other.views, (kind, given)))
            dims = result = ()
        elif all(size == 1 for size in dims[:-1]):
            # As many leading sizes of 1, and the same last one: rows are only counted in another way.
            last = dims[-1]
            if not isinstance(last, int) or (last != 1 and given[-1] != last):
                return None
            shape = (*(1 for _ in given[:-1]), last)
            other = Argument(other.value, (*other.views, ("reshape", shape)))
            dims = result = shape
        else:
            return None
    return other


def bias_of(step: Step, other: Argument, values: Sequence[Value]) -> Argument | None:
    """An operand that is added, where it is one number for each channel of a result."""
    if step.kind not in PRODUCTS or step.post_ops or "bias" in step.arguments:
        return None
    sizes = _seen_sizes(other, values)
    channel = 1 if "convolution" in step.kind else len(sizes) - 1
    count = sizes[channel] if sizes else 1
    if not isinstance(count, int) or any(size != 1 for axis, size in enumerate(sizes) if axis != channel):
        return None
    channels = channels_of(step, values)
    if channels != count or values[other.value].dtype != "f32":
        return None
    if step.kind == "matmul":
        return other
    return Argument(other.value, (*other.views, ("reshape", (count,))))


def channels_of(step: Step, values: Sequence[Value]) -> Size | None:
    """How many channels the result has, where that is a number."""
    sizes = _seen_sizes(step.result, values)
    return sizes[1 if "convolution" in step.kind else len(sizes) - 1] if sizes else None


def _seen_sizes(argument: Argument, values: Sequence[Value]) -> tuple[Size, ...]:
    sizes = values[argument.value].dims
    for kind, given in argument.views:
        sizes = tuple(sizes[int(axis)] for axis in given) if kind == "permute" else given
    return sizes
