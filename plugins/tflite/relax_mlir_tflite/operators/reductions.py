# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes, indices of extremes, and cumulative sums."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.tensors import all_of, any_of

from ..prelude import Convert, Outputs, Tensor, TfliteNode, cast, register_rows, register_tflite, relax, sizes


def _make_reduction_converter(function: Callable[..., Tensor]) -> Convert:
    def convert(node: TfliteNode) -> Outputs:
        x = node.tensor(0)
        axes = _axes(node)
        return function(x, axis=axes, keepdims=bool(node.attr("keep_dims", False))) if axes else x

    return convert


def _axes(node: TfliteNode) -> list[int]:
    return sorted({node.axis_of(axis, node.rank(0)) for axis in node.known_numbers(1)})


@register_tflite("MEAN")
def mean(node: TfliteNode) -> Outputs:
    """Convert MEAN. The mean of integers is truncated."""
    x, axes, keeps = node.tensor(0), _axes(node), bool(node.attr("keep_dims", False))
    if not axes or is_float(node.dtype):
        return relax.mean(x, axis=axes, keepdims=keeps) if axes else x
    own = node.sizes_of(0)
    count = cast(sizes.as_tensor([sizes.product([own[axis] for axis in axes])]), "i64")
    total = relax.sum(cast(x, "i64"), axis=axes, keepdims=keeps)
    return cast(relax.divide(total, relax.reshape(count, ())), node.dtype)


register_rows(
    {
        "SUM": _make_reduction_converter(relax.sum),
        "REDUCE_PROD": _make_reduction_converter(relax.prod),
        "REDUCE_MAX": _make_reduction_converter(relax.max),
        "REDUCE_MIN": _make_reduction_converter(relax.min),
        "REDUCE_ALL": _make_reduction_converter(all_of),
        "REDUCE_ANY": _make_reduction_converter(any_of),
        "ARG_MAX": lambda node: _place(node, relax.argmax),
        "ARG_MIN": lambda node: _place(node, relax.argmin),
    }
)


def _place(node: TfliteNode, function: Callable[..., Tensor]) -> Tensor:
    return cast(function(node.tensor(0), axis=node.axis(1, node.rank(0))), node.dtype)


@register_tflite("CUMSUM")
def cumsum(node: TfliteNode) -> Outputs:
    x, axis = node.tensor(0), node.axis(1, node.rank(0))
    is_reversed = node.attr("reverse", False)
    x = relax.flip(x, axis=axis) if is_reversed else x
    made = relax.cumsum(x, axis=axis, exclusive=bool(node.attr("exclusive", False)))
    return cast(relax.flip(made, axis=axis) if is_reversed else made, node.dtype)
