# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that reorder, select or sort the elements of their operand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from relax_mlir.bindings.ir import Value
from relax_mlir.passes.graph.decompose.tensor_formulas import relax
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall, Gradients
from ..positions import moved_back, moved_by_itself
from ..requirements import known_shape, rank_of


@register_gradient(["relax.dynamic_strided_slice", "relax.nn.pixel_shuffle", "relax.reverse_sequence"], by_types=True)
def moved(call: GradientCall) -> Sequence[Gradient]:
    return [moved_by_itself(call)]


@register_gradient("relax.index_tensor", by_types=True)
def index_tensor(call: GradientCall) -> Sequence[Gradient]:
    return [moved_back(call.gradient, call.data, lambda places: relax.index_tensor(places, list(call.indices)))]


@register_gradient("relax.layout_transform", by_types=True)
def layout_transform(call: GradientCall) -> Sequence[Gradient]:
    return [moved_by_itself(call, has_others=True, pad_value=-1)]


@register_gradient("relax.meshgrid", by_types=True)
def meshgrid(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate meshgrid: sum over the axes of a grid that its tensor is broadcast along."""
    count = len(call.operands)

    def total(index: int) -> Value:
        place = 1 - index if call.indexing == "xy" and index < 2 <= count else index
        others = [axis for axis in range(count) if axis != place]
        return relax.sum(call.gradients[index], axis=others) if others else call.gradients[index]

    return [partial(total, index) for index in range(count)]


@register_gradient("relax.sort", by_types=True)
def sort(call: GradientCall) -> Gradients:
    order = relax.argsort(call.data, axis=call.axis, descending=call.descending, dtype="i64")
    return _put(call, call.gradient, order)


@register_gradient("relax.topk", by_types=True)
def topk(call: GradientCall) -> Gradients:
    """Differentiate the values. The positions have no gradient, not even as floats."""
    if call.ret_type == "indices" or not call.arrives_at(0):
        return None
    attributes = {**call.inferred.attributes, "ret_type": "indices", "dtype": "i64"}
    return _put(call, call.gradient, relax.topk(call.data, **attributes))


def _put(call: GradientCall, gradient: Value, places: Value) -> Value:
    """Return zeros with a gradient at positions along the operator's axis."""
    zeros = relax.zeros_like(call.data)
    return relax.scatter_elements(zeros, places, gradient, axis=call.axis % rank_of(call, call.data), reduction="add")


@register_gradient("relax.unique", by_types=True)
def unique(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate unique: the first of equal elements (or slices) gets the gradient."""
    axis = call.inferred.operands["axis"]
    number = getattr(axis, "value", None)
    if axis is not None and not isinstance(number, int):
        raise call.fail("only along an axis that is a number")
    known_shape(call, call.x)
    given = [] if axis is None else [number]
    _, first = relax.unique(call.x, call.sorted, True, False, False, *given)

    def move(positions: Value) -> Value:
        flat = relax.flatten(positions) if axis is None else positions
        return relax.take(flat, first, axis=0 if axis is None else number)

    return [moved_back(call.gradient, call.x, move)]
