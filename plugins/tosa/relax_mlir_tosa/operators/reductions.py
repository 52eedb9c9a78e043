# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions along an axis of size 1 in the result, and the index of the largest element."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.tensors import all_of, any_of, wide_float

from ..prelude import Convert, Outputs, Tensor, TosaNode, cast, like, register_rows, register_tosa, relax


def _make_reduction_converter(function: Callable[..., Tensor]) -> Convert:
    """Return a converter that reduces floats in at least f32."""

    def convert(node: TosaNode) -> Outputs:
        x = node.tensor(0)
        wide = cast(x, wide_float(node.dtype)) if is_float(node.dtype) else x
        return cast(function(wide, axis=[node.attr("axis")], keepdims=True), node.dtype)

    return convert


def without_nan(x: Tensor, instead: float) -> Tensor:
    """Replace NaN by another number."""
    return relax.where(relax.isnan(x), like(x, instead), x)


def _extreme(function: Callable[..., Tensor], neutral: float) -> Convert:
    """Return a converter of an extreme: NaN if an element is NaN, unless NaN is ignored."""

    def convert(node: TosaNode) -> Outputs:
        x, axis = node.tensor(0), [node.attr("axis")]
        if not is_float(node.dtype):
            return function(x, axis=axis, keepdims=True)
        made = function(without_nan(x, neutral), axis=axis, keepdims=True)
        if node.ignores_nan:
            return made
        return relax.where(any_of(relax.isnan(x), axis, keepdims=True), like(x, float("nan")), made)

    return convert


register_rows(
    {
        "tosa.reduce_sum": _make_reduction_converter(relax.sum),
        "tosa.reduce_product": _make_reduction_converter(relax.prod),
        "tosa.reduce_all": _make_reduction_converter(all_of),
        "tosa.reduce_any": _make_reduction_converter(any_of),
        "tosa.reduce_max": _extreme(relax.max, float("-inf")),
        "tosa.reduce_min": _extreme(relax.min, float("inf")),
    }
)


@register_tosa("tosa.argmax")
def argmax(node: TosaNode) -> Outputs:
    """Return the index of the first maximum, or of the first NaN if there is one and NaN is not ignored."""
    x, axis = node.tensor(0), node.attr("axis")
    if not is_float(node.value(0).dtype):
        return cast(relax.argmax(x, axis=axis), node.dtype)
    place = relax.argmax(without_nan(x, float("-inf")), axis=axis)
    if node.ignores_nan:
        return cast(place, node.dtype)
    is_nan = relax.isnan(x)
    first_nan = relax.argmax(cast(is_nan, "i32"), axis=axis)
    return cast(relax.where(any_of(is_nan, [axis]), first_nan, place), node.dtype)
