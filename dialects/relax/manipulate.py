# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that change the shape of tensors, move their elements, or join them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Attribute, Context
from ...bindings.mlir import ir
from ..core.attributes import AttributeProblem, AttrKind, Int, Ints, Number, Str
from ..core.codec import decode
from ..core.equalities import contradict
from ..core.infos import TensorInfo, describe
from ..core.opdef import Call, OpProblem
from ..core.operands import as_dim, as_value
from ..core.symbols import Dim, SymExpr, dim_floordiv, dim_mod, dim_mul, equal, product
from .dialect import broadcast_op, injective_op, op
from .infer import joining
from .infer.broadcast import check_broadcast
from .infer.index_map import IndexMap, layout_transform
from .infer.sizes import Shape, at_least, normalize_axes, normalize_axis, ordered_axes

# ---- reshaping: the meaning of -1 and 0 in a new shape, and agreement of the element counts ----


def resolve_new_shape(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the builder's arguments with -1 and 0 in a Python shape replaced by their sizes."""
    given, source = arguments.get("shape"), as_value(arguments.get("x"))
    if given is None or source is None or as_value(given) is not None:
        return arguments
    try:
        items = (given,) if isinstance(given, (int, str, SymExpr)) else tuple(given)
    except TypeError:  # not a list of sizes: the builder reports it
        return arguments
    wanted = [as_dim(item, "shape") for item in items]
    info = decode(source.type)
    if isinstance(info, TensorInfo) and (0 in wanted or -1 in wanted):
        wanted = _resolve(wanted, info)
    return {**arguments, "shape": tuple(wanted)}


def _resolve(wanted: Sequence[Any], source: TensorInfo) -> list[Any]:
    sizes = [_copy(axis, source) if size == 0 else size for axis, size in enumerate(wanted)]
    if -1 not in sizes:
        return sizes
    if sizes.count(-1) > 1:
        raise OpProblem("operand 'shape': only one size can be -1")
    if (rest := product(size for size in sizes if size != -1)) == 0:
        raise OpProblem("operand 'shape': -1 next to a size of 0 could be anything: give the size itself")
    count = None if source.shape is None else product(source.shape)
    if count is None:
        raise OpProblem(
            f"operand 'shape': -1 needs the sizes of operand 'x' ({describe(source)}): name them with "
            "relax.match_cast, or give all sizes"
        )
    if equal(dim_mod(count, rest), 0) is False:
        raise OpProblem(f"operand 'shape': -1 cannot be resolved, {rest} does not divide {count} elements")
    return [dim_floordiv(count, rest) if size == -1 else size for size in sizes]


def _copy(axis: int, source: TensorInfo) -> Dim:
    """Return the size that a 0 copies: the source's size at the same index."""
    if source.shape is None or axis >= len(source.shape) or source.shape[axis] is None:
        raise OpProblem(
            f"operand 'shape': 0 copies size {axis} of operand 'x' ({describe(source)}), which is not there or unknown"
        )
    return source.shape[axis]


def reshape(call: Call) -> TensorInfo:
    old, new = call.x.shape, call.shape.dims
    if old is None or new is None:
        return call.x.with_shape(new)
    if not _may_match(old, new):
        raise call.fail(f"{call.describe('x')} does not have as many elements as {call.describe('shape')}")
    return call.x.with_shape(_complete_shape(new, product(old)))


def _may_match(old: Shape, new: Shape) -> bool:
    """Check whether both shapes can have the same number of elements."""
    old_count, new_count = product(old), product(new)
    if old_count is not None and new_count is not None:
        return not contradict(old_count, new_count)
    partial, count = (old, new_count) if old_count is None else (new, old_count)
    factor = product(size for size in partial if size is not None)
    if not isinstance(count, int) or not isinstance(factor, int):
        return True
    return count % factor == 0 if factor else count == 0


def _complete_shape(new: Shape, count: Dim) -> Shape:
    """Compute the only unknown size of a shape from the number of elements, if possible."""
    rest = product(size for size in new if size is not None)
    if new.count(None) != 1 or not at_least(rest, 1):
        return new
    return tuple(dim_floordiv(count, rest) if size is None else size for size in new)


def flatten(call: Call) -> TensorInfo:
    shape = call.x.shape
    return call.x.with_shape((None if shape is None else product(shape),))


# ---- moving, copying and dropping elements ----


def broadcast_to(call: Call) -> TensorInfo:
    old, new = call.x.shape, call.shape.dims
    if old is None or new is None:
        return call.x.with_shape(new)
    check_broadcast(call, "x", old, "shape", new)
    sizes = zip((1,) * (len(new) - len(old)) + old, new, strict=True)
    # Only a size of 1 can change: any other size determines an unknown target size.
    return call.x.with_shape(one if target is None and equal(one, 1) is False else target for one, target in sizes)


def collapse_sum_like(call: Call) -> TensorInfo:
    return _collapse_sum(call, "collapse_target", call.collapse_target.shape)


def collapse_sum_to(call: Call) -> TensorInfo:
    return _collapse_sum(call, "shape", call.shape.dims)


def _collapse_sum(call: Call, target_name: str, target: Shape | None) -> TensorInfo:
    """Infer the sum that reverses a broadcast. The target must broadcast to the data."""
    if call.data.shape is not None and target is not None:
        check_broadcast(call, target_name, target, "data", call.data.shape)
    return call.data.with_shape(target)


def expand_dims(call: Call) -> TensorInfo:
    if (shape := call.x.shape) is None:
        return call.x
    rank = len(shape) + len(call.axis)
    new = normalize_axes(call, "axis", rank, call.axis)
    old = iter(shape)
    return call.x.with_shape(1 if axis in new else next(old) for axis in range(rank))


def squeeze(call: Call) -> TensorInfo:
    if (shape := call.x.shape) is None:
        return call.x
    if call.axis is None:
        # A size that may be 1 may be dropped: not even the result's rank is known then.
        open_question = any(equal(size, 1) is None for size in shape)
        return call.x.with_shape(None if open_question else [size for size in shape if size != 1])
    dropped = normalize_axes(call, "axis", len(shape), call.axis)
    for axis in dropped:
        if contradict(shape[axis], 1):
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
    if (shape := call.data.shape) is None:
        return call.data
    rank = max(len(shape), len(call.repeats))
    sizes = (1,) * (rank - len(shape)) + shape
    counts = (1,) * (rank - len(call.repeats)) + call.repeats
    return call.data.with_shape(dim_mul(size, count) for size, count in zip(sizes, counts, strict=True))


class _IndicesOrSections(AttrKind):
    """Integer or list of integers, without conversion between the two."""

    expects = "an integer or a list of integers"
    label = "int or ints"

    def normalize(self, value: object) -> int | tuple[int, ...]:
        try:
            return (Ints() if hasattr(value, "__iter__") else Int()).normalize(value)
        except AttributeProblem:
            raise self.refuse(value) from None

    def encode(self, value: int | tuple[int, ...], context: Context) -> Attribute:
        return Int().encode(value, context) if isinstance(value, int) else Ints().encode(value, context)

    def decode(self, attribute: Attribute) -> int | tuple[int, ...]:
        try:
            return (Int() if isinstance(attribute, ir.IntegerAttr) else Ints()).decode(attribute)
        except AttributeProblem:
            raise self.refuse(attribute) from None


# ---- shape ----
injective_op("reshape", "x shape:shape", infer=reshape, prepare=resolve_new_shape, view="x", shaped_by="shape",
   doc="Changes the shape, not the elements. In a Python shape, -1 is inferred and 0 copies a size.")  # fmt: skip
injective_op("flatten", "x", infer=flatten, view="x", doc="Flattens to one dimension, in row-major order.")
injective_op("expand_dims", "x", attrs={"axis": Ints(doc="positions in the result")}, infer=expand_dims,
   view="x", doc="Inserts dimensions of size 1.")  # fmt: skip
injective_op("squeeze", "x", attrs={"axis": Ints(None, doc="default: all of size 1")}, infer=squeeze, view="x",
   doc="Removes dimensions of size 1. Other sizes are an error, as in numpy and ONNX.")  # fmt: skip
broadcast_op("broadcast_to", "x shape:shape", flops=0, infer=broadcast_to, shaped_by="shape",
   doc="Broadcasts to a shape.")  # fmt: skip
op("collapse_sum_like", "data collapse_target", infer=collapse_sum_like,
   doc="Sums data to the shape of collapse_target, the inverse of a broadcast.")  # fmt: skip
op("collapse_sum_to", "data shape:shape", infer=collapse_sum_to, shaped_by="shape",
   doc="Sums data to a shape, the inverse of a broadcast.")  # fmt: skip

# ---- order ----
injective_op("permute_dims", "x", attrs={"axes": Ints(None, doc="default: reversed")}, infer=permute_dims,
   doc="Permutes the dimensions.")  # fmt: skip
injective_op("flip", "data", attrs={"axis": Int()}, infer=flip, doc="Reverses the elements along an axis.")
injective_op("layout_transform", "x", attrs={"index_map": IndexMap(doc="map from old to new indices"),
   "pad_value": Number(None, doc="value of the padding; default: any")}, infer=layout_transform,
   doc="Moves each element to the indices that the map computes. The rest is padding.")  # fmt: skip

# ---- copies ----
injective_op("repeat", "data", attrs={"repeats": Int(), "axis": Int(None, doc="default: flatten the tensor first")},
   infer=repeat, doc="Repeats each element.")  # fmt: skip
injective_op("tile", "data", attrs={"repeats": Ints(doc="counts for the last dimensions")}, infer=tile,
   doc="Repeats the whole tensor along each axis.")  # fmt: skip

# ---- several tensors ----
injective_op("concat", "*tensors", attrs={"axis": Int(0)}, infer=joining.concat,
   doc="Concatenates tensors along an axis.")  # fmt: skip
injective_op("stack", "*tensors", attrs={"axis": Int(0)}, infer=joining.stack,
   doc="Stacks tensors of one shape along a new axis.")  # fmt: skip
injective_op("split", "x", attrs={
   "indices_or_sections": _IndicesOrSections(doc="number of sections, or their starts"), "axis": Int(0)},
   results="*results", infer=joining.split, doc="Splits a tensor along an axis.")  # fmt: skip
broadcast_op("meshgrid", "*tensors", attrs={"indexing": Str("ij", choices=("ij", "xy"))}, results="*results",
   flops=0, infer=joining.meshgrid,
   doc="Coordinate grids: each 1-D tensor, repeated along all other axes.")  # fmt: skip
