# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions along an axis, which stays with one element, and where the largest element is."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects.core.infos import is_float
from ...core.tensors import wide_float
from ..prelude import Convert, Node, Outputs, Tensor, cast, like, register_rows, register_tosa, relax


def _reduced(function: Callable[..., Tensor]) -> Convert:
    """Floats in f32 at least."""

    def convert(node: Node) -> Outputs:
        x = node.tensor(0)
        wide = cast(x, wide_float(node.dtype)) if is_float(node.dtype) else x
        return cast(function(wide, axis=[node.attr("axis")], keepdims=True), node.dtype)

    return convert


def _of_truth(function: Callable[..., Tensor]) -> Convert:
    """Of truth values, as integers."""

    def convert(node: Node) -> Outputs:
        made = function(cast(node.tensor(0), "i8"), axis=[node.attr("axis")], keepdims=True)
        return relax.greater(made, like(made, 0))

    return convert


def without_nan(x: Tensor, instead: float) -> Tensor:
    """NaN as another number."""
    return relax.where(relax.isnan(x), like(x, instead), x)


def _extreme(function: Callable[..., Tensor], neutral: float) -> Convert:
    """NaN where there is one, unless it is ignored."""

    def convert(node: Node) -> Outputs:
        x, axis = node.tensor(0), [node.attr("axis")]
        if not is_float(node.dtype):
            return function(x, axis=axis, keepdims=True)
        made = function(without_nan(x, neutral), axis=axis, keepdims=True)
        if node.ignores_nan:
            return made
        has_nan = relax.max(cast(relax.isnan(x), "i8"), axis=axis, keepdims=True)
        return relax.where(relax.greater(has_nan, like(has_nan, 0)), like(x, float("nan")), made)

    return convert


register_rows(
    {
        "tosa.reduce_sum": _reduced(relax.sum),
        "tosa.reduce_product": _reduced(relax.prod),
        "tosa.reduce_all": _of_truth(relax.min),
        "tosa.reduce_any": _of_truth(relax.max),
        "tosa.reduce_max": _extreme(relax.max, float("-inf")),
        "tosa.reduce_min": _extreme(relax.min, float("inf")),
    }
)


@register_tosa("tosa.argmax")
def argmax(node: Node) -> Outputs:
    """The first one; the first NaN where there is one, unless it is ignored."""
    x, axis = node.tensor(0), node.attr("axis")
    if not is_float(node.value(0).dtype):
        return cast(relax.argmax(x, axis=axis), node.dtype)
    place = relax.argmax(without_nan(x, float("-inf")), axis=axis)
    if node.ignores_nan:
        return cast(place, node.dtype)
    is_nan = cast(relax.isnan(x), "i32")
    has_nan = relax.greater(relax.max(is_nan, axis=[axis]), like(is_nan, 0))
    return cast(relax.where(has_nan, relax.argmax(is_nan, axis=axis), place), node.dtype)
