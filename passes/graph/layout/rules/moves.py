# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout rules of operators that change layouts. A layout can make the operator a view, or leave its work to users."""

from __future__ import annotations

from .....dialects.relax.infer.layouts import Layout
from ..call import LayoutCall, Placement
from ..conversion import layout_before, layout_behind
from ..registry import register_layout
from ..relations import as_it_is, behind, between, renamed, shape_in


@register_layout("relax.permute_dims", moves=True)
def permute_dims(call: LayoutCall, layout: Layout) -> Placement | None:
    rank = layout.rank
    axes = range(rank)[::-1] if call.axes is None else [axis % rank for axis in call.axes]
    return _view(call, layout, renamed(layout, {old: new for new, old in enumerate(axes)}, rank))


@register_layout("relax.layout_transform", moves=True)
def layout_transform(call: LayoutCall, layout: Layout) -> Placement | None:
    """Become a view if the map splits or joins blocks of this layout."""
    index_map = call.index_map.value
    if layout.rank != index_map.n_dims:
        return None
    if (split := layout_behind(index_map, layout.dimensions)) is not None:
        return _view(call, layout, between(split, layout))
    result = as_it_is(call.result.rank)
    joined = layout_before(index_map, result.dimensions)
    return None if joined is None else _view(call, layout, behind(joined, layout))


def _view(call: LayoutCall, layout: Layout, result: Layout | None) -> Placement | None:
    """Return the operation as a view if the operand's axes have the sizes of the result's."""
    if result is None or shape_in(layout, call.x.shape) != shape_in(result, call.result.shape):
        return None
    return call.placed({"x": layout}, result)._replace(is_view=True)
