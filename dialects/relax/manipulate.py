# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that change the shape of tensors, move their elements, or join them."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from ..core.attributes import AttributeProblem, AttrKind, Int, Ints, Number, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import dim_mul, equal, product
from .dialect import op
from .infer import joining
from .infer.broadcast import check_broadcast
from .infer.index_map import IndexMap, layout_transform
from .infer.reshape import flatten, reshape, resolve_new_shape
from .infer.sizes import Shape, normalize_axes, normalize_axis, ordered_axes


def broadcast_to(call: Call) -> TensorInfo:
    old, new = call.x.shape, call.shape.dims
    if old is None or new is None:
        return call.x.with_shape(new)
    check_broadcast(call, "x", old, "shape", new)
    padded = (1,) * (len(new) - len(old)) + old
    sizes = zip(padded, new, strict=True)
    # Only a size of 1 can change: any other tells what an unknown target is.
    return call.x.with_shape(one if target is None and equal(one, 1) is False else target for one, target in sizes)


def collapse_sum_like(call: Call) -> TensorInfo:
    return _collapse_sum(call, "collapse_target", call.collapse_target.shape)


def collapse_sum_to(call: Call) -> TensorInfo:
    return _collapse_sum(call, "shape", call.shape.dims)


def _collapse_sum(call: Call, target_name: str, target: Shape | None) -> TensorInfo:
    """Undoes a broadcast by summing over it, so the target must broadcast to the data."""
    if call.data.shape is not None and target is not None:
        check_broadcast(call, target_name, target, "data", call.data.shape)
    return call.data.with_shape(target)


def expand_dims(call: Call) -> TensorInfo:
    shape = call.x.shape
    if shape is None:
        return call.x
    rank = len(shape) + len(call.axis)
    new = normalize_axes(call, "axis", rank, call.axis)
    old = iter(shape)
    return call.x.with_shape(1 if axis in new else next(old) for axis in range(rank))


def squeeze(call: Call) -> TensorInfo:
    shape = call.x.shape
    if shape is None:
        return call.x
    if call.axis is None:
        # A size that may be 1 may have to go: not even the result's rank is known then.
        open_question = any(equal(size, 1) is None for size in shape)
        return call.x.with_shape(None if open_question else [size for size in shape if size != 1])
    dropped = normalize_axes(call, "axis", len(shape), call.axis)
    for axis in dropped:
        if equal(shape[axis], 1) is False:
            raise call.fail(f"{call.describe('axis')}: dimension {axis} of {call.describe('x')} is not 1")
    return call.x.with_shape(size for axis, size in enumerate(shape) if axis not in dropped)


def flip(call: Call) -> TensorInfo:
    if call.data.rank is not None:
        normalize_axis(call, "axis", call.data.rank, call.axis)
    return call.data


def permute_dims(call: Call) -> TensorInfo:
    shape, axes = call.x.shape, call.axes
    if shape is None:
        if axes is None:
            return call.x
        ordered_axes(call, "axes", len(axes), axes)
        return call.x.with_shape([None] * len(axes))
    if axes is None:
        return call.x.with_shape(reversed(shape))
    if len(axes) != len(shape):
        raise call.fail(
            f"{call.describe('axes')} must name each of the {len(shape)} dimensions of {call.describe('x')}"
        )
    return call.x.with_shape(shape[axis] for axis in ordered_axes(call, "axes", len(shape), axes))


def repeat(call: Call) -> TensorInfo:
    call.require(call.repeats >= 0, f"{call.describe('repeats')} cannot be negative")
    shape = call.data.shape
    if call.axis is None:
        return call.data.with_shape([None if shape is None else dim_mul(product(shape), call.repeats)])
    if shape is None:
        return call.data
    chosen = normalize_axis(call, "axis", len(shape), call.axis)
    return call.data.with_shape(
        dim_mul(size, call.repeats) if axis == chosen else size for axis, size in enumerate(shape)
    )


def tile(call: Call) -> TensorInfo:
    call.require(all(count >= 0 for count in call.repeats), f"{call.describe('repeats')} cannot be negative")
    shape = call.data.shape
    if shape is None:
        return call.data
    rank = max(len(shape), len(call.repeats))
    sizes = (1,) * (rank - len(shape)) + shape
    counts = (1,) * (rank - len(call.repeats)) + call.repeats
    return call.data.with_shape(dim_mul(size, count) for size, count in zip(sizes, counts, strict=True))


class _IndicesOrSections(AttrKind):
    """An integer or a list of integers: what it is stays what it is."""

    expects = "an integer or a list of integers"
    label = "int or ints"

    def normalize(self, value: Any) -> int | tuple[int, ...]:
        try:
            return (Ints() if hasattr(value, "__iter__") else Int()).normalize(value)
        except AttributeProblem:
            raise self.refuse(value) from None

    def encode(self, value: int | tuple[int, ...], context: Any) -> Any:
        return Int().encode(value, context) if isinstance(value, int) else Ints().encode(value, context)

    def decode(self, attribute: Any) -> int | tuple[int, ...]:
        try:
            return (Int() if isinstance(attribute, ir.IntegerAttr) else Ints()).decode(attribute)
        except AttributeProblem:
            raise self.refuse(attribute) from None


# ---- shape ----
op("reshape", "x shape:shape", infer=reshape, prepare=resolve_new_shape, view="x", shaped_by="shape",
   doc="The same elements under a new shape. In a Python shape, one -1 is inferred and 0 copies a size.")  # fmt: skip
op("flatten", "x", infer=flatten, view="x", doc="The elements in row-major order as one dimension.")
op("expand_dims", "x", attrs={"axis": Ints(doc="where they stand in the result")}, infer=expand_dims,
   view="x", doc="New dimensions of size 1.")  # fmt: skip
op("squeeze", "x", attrs={"axis": Ints(None, doc="absent: all of size 1")}, infer=squeeze, view="x",
   doc="Without dimensions of size 1. An axis of another size is refused, as numpy and ONNX do.")  # fmt: skip
op("broadcast_to", "x shape:shape", infer=broadcast_to, shaped_by="shape",
   doc="Copies along dimensions of size 1.")  # fmt: skip
op("collapse_sum_like", "data collapse_target", infer=collapse_sum_like,
   doc="Sums over the dimensions that a broadcast from collapse_target's shape to data's made.")  # fmt: skip
op("collapse_sum_to", "data shape:shape", infer=collapse_sum_to, shaped_by="shape",
   doc="Sums over the dimensions that a broadcast from the shape to data's made.")  # fmt: skip

# ---- order ----
op("permute_dims", "x", attrs={"axes": Ints(None, doc="absent: reversed")}, infer=permute_dims,
   doc="The dimensions in another order.")  # fmt: skip
op("flip", "data", attrs={"axis": Int()}, infer=flip, doc="The elements along an axis in reversed order.")
op("layout_transform", "x", attrs={"index_map": IndexMap(doc="from old indices to new ones"),
   "pad_value": Number(None, doc="absent: any")}, infer=layout_transform,
   doc="Each element at the place that the map gives for its indices; other places are padding.")  # fmt: skip

# ---- copies ----
op("repeat", "data", attrs={"repeats": Int(), "axis": Int(None, doc="absent: of the flattened tensor")},
   infer=repeat, doc="Each element several times in a row.")  # fmt: skip
op("tile", "data", attrs={"repeats": Ints(doc="for the last dimensions")}, infer=tile,
   doc="The whole tensor several times along each axis.")  # fmt: skip

# ---- several tensors ----
op("concat", "*tensors", attrs={"axis": Int(0)}, infer=joining.concat, doc="Tensors one after the other along an axis.")
op("stack", "*tensors", attrs={"axis": Int(0)}, infer=joining.stack, doc="Tensors of one shape along a new axis.")
op("split", "x", attrs={"indices_or_sections": _IndicesOrSections(doc="how many sections, or where they begin"),
   "axis": Int(0)}, results="*results", infer=joining.split, doc="The parts of a tensor along an axis.")  # fmt: skip
op("meshgrid", "*tensors", attrs={"indexing": Str("ij", choices=("ij", "xy"))}, results="*results",
   infer=joining.meshgrid, doc="For each 1-D tensor a grid that repeats it along all other axes.")  # fmt: skip
