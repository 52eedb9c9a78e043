# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout rules of operators that join, cut, pad or slice tensors, or change their dimensions."""

from __future__ import annotations

from .....bindings.ir import Value
from .....dialects import relax
from .....dialects.core.infos import TensorInfo
from .....dialects.core.symbols import equal
from .....dialects.relax import const
from .....dialects.relax.infer.layouts import Layout, blocked_dimensions
from ..call import LayoutCall, Placement
from ..registry import register_layout
from ..relations import as_it_is, for_broadcast, renamed, shape_in, without


@register_layout(["relax.tril", "relax.triu", "relax.meshgrid"])
def by_position(call: LayoutCall, layout: Layout) -> None:
    """Decline: these elementwise operators depend on the position of an element."""


# ---- along an axis, which may have blocks: whole blocks are joined and cut ----


@register_layout("relax.concat")
def concat(call: LayoutCall, layout: Layout) -> Placement:
    return call.follow(layout, axis=layout.place(call.axis, outer=True))


@register_layout("relax.split")
def split(call: LayoutCall, layout: Layout) -> Placement | None:
    block = layout.block_of(layout.dimensions[call.axis])
    if not isinstance(cuts := call.indices_or_sections, int):
        if any(cut % block for cut in cuts):
            return None
        cuts = [cut // block for cut in cuts]
    return call.follow(layout, indices_or_sections=cuts, axis=layout.place(call.axis, outer=True))


@register_layout("relax.stack")
def stack(call: LayoutCall, layout: Layout) -> Placement:
    rank = layout.rank
    new = call.axis % (rank + 1)
    stacked = renamed(layout, {old: old + (old >= new) for old in range(rank)}, rank + 1)
    return call.placed({"tensors": layout}, stacked, axis=stacked.place(new))


@register_layout("relax.tile")
def tile(call: LayoutCall, layout: Layout) -> Placement | None:
    rank = layout.rank
    if len(call.repeats) > rank:
        return None
    repeats = [1] * len(layout.axes)
    for dimension, count in enumerate(call.repeats, rank - len(call.repeats)):
        repeats[layout.place(dimension, outer=True) or 0] = count
    return call.follow(layout, repeats=repeats)


# ---- parts, and more around ----


@register_layout("relax.nn.pad")
def pad(call: LayoutCall, layout: Layout) -> Placement | None:
    widths = dict(zip(layout.dimensions, zip(call.pad_width[::2], call.pad_width[1::2], strict=True), strict=True))
    if any(any(widths[dimension]) for dimension in blocked_dimensions(layout)):
        return None
    return call.follow(layout, pad_width=[width for axis in layout.axes for width in widths[axis.dimension]])


@register_layout("relax.strided_slice")
def strided_slice(call: LayoutCall, layout: Layout) -> Placement | None:
    axes = layout.places(call.axes)
    return None if axes is None else call.follow(layout, axes=axes)


@register_layout("relax.dynamic_strided_slice")
def dynamic_strided_slice(call: LayoutCall, layout: Layout) -> Placement | None:
    """Follow the layout. Bounds and strides are tensors with an element per axis, which are reordered."""
    if blocked_dimensions(layout):
        return None
    order = [layout.dimensions.index(axis.dimension) for axis in layout.axes]

    def ordered(indices: Value) -> Value:
        return relax.take(indices, const(order, "int64"), axis=0)

    return call.placed({"x": layout, "begin": ordered, "end": ordered, "strides": ordered}, layout)


@register_layout("relax.scatter_nd")
def scatter_nd(call: LayoutCall, layout: Layout) -> Placement | None:
    """Follow the layout if the indexed leading dimensions stay in place.

    The others are dimensions of `updates`, too.
    """
    if call.data.rank != layout.rank or not call.indices.shape or not isinstance(call.indices.shape[-1], int):
        return None
    depth, before = call.indices.shape[-1], call.indices.rank - 1
    if layout.axes[:depth] != as_it_is(depth).axes or blocked_dimensions(layout) & set(layout.dimensions[:depth]):
        return None
    rest = {dimension: before + dimension - depth for dimension in range(depth, layout.rank)}
    return call.placed({"data": layout, "updates": renamed(layout, rest, before + len(rest))}, layout)


# ---- more dimensions, or fewer ----


@register_layout("relax.expand_dims")
def expand_dims(call: LayoutCall, layout: Layout) -> Placement:
    rank = layout.rank + len(call.axis)
    new = {axis % rank for axis in call.axis}
    expanded = renamed(layout, dict(enumerate([axis for axis in range(rank) if axis not in new])), rank)
    return call.placed({"x": layout}, expanded, axis=expanded.places(sorted(new)))


@register_layout("relax.squeeze")
def squeeze(call: LayoutCall, layout: Layout) -> Placement | None:
    if (axes := call.axis) is None:
        if any(equal(size, 1) is None for size in call.x.shape):
            return None
        axes = [axis for axis, size in enumerate(call.x.shape) if size == 1]
    dropped = layout.places(axes)
    return None if dropped is None else call.placed({"x": layout}, without(layout, axes), axis=dropped)


@register_layout("relax.broadcast_to")
def broadcast_to(call: LayoutCall, layout: Layout) -> Placement | None:
    dims = shape_in(layout, call.result.shape) if call.result.rank == layout.rank else None
    if dims is None or None in dims:
        return None

    def laid_out(shape: Value) -> Value:
        return relax.shape_expr(dims=dims)

    return call.placed({"x": for_broadcast(layout, call.x.shape), "shape": laid_out}, layout)


@register_layout("relax.match_cast")
def match_cast(call: LayoutCall, layout: Layout) -> Placement | None:
    """Follow the layout: the sizes are checked on the laid-out axes."""
    same = isinstance(call.result, TensorInfo) and call.result.rank == layout.rank
    return call.placed({"value": layout}, layout) if same else None
