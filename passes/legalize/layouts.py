# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in layouts such as "NHWC" or "NCHW16c", for rules that are about "NCHW" and know no blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...bindings.ir import OpView, Value
from ...bindings.mlir import ir
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo, is_int
from ...dialects.relax import dialect as relax
from ...dialects.relax.infer.layouts import Axis, Layout
from ...emit import linalg, loops
from ..canonicalize.constants import elements_of, make_elements
from .builder import RuleBuilder
from .known_sizes import by_name


def blocked_dimensions(layout: Layout) -> set[str]:
    return {axis.dimension for axis in layout.axes if axis.block is not None}


def is_permutation(layout: Layout, other: Layout) -> bool:
    """Whether both have the same axes, blocks included, maybe in another order."""
    return sorted(map(str, layout.axes)) == sorted(map(str, other.axes))


def positions(layout: Layout, other: Layout) -> list[int]:
    """Where each axis of a layout is in another that is a permutation of it."""
    others = _numbered(other.axes)
    return [others.index(axis) for axis in _numbered(layout.axes)]


def _numbered(axes: Iterable[Axis]) -> list[tuple[Axis, int]]:
    """Axes with how often they came before: a dimension may have equal blocks inside of each other."""
    seen: list[Axis] = []
    numbered = []
    for axis in axes:
        numbered.append((axis, seen.count(axis)))
        seen.append(axis)
    return numbered


def permuted(value: Value, axes: Sequence[int]) -> Value:
    """A value of the graph with its axes in this order; a constant's elements are moved at once."""
    array = elements_of(value)
    if array is None:
        return relax.ops["permute_dims"](value, axes=list(axes))
    moved = array.transpose(axes)
    made = make_elements(moved, ir.RankedTensorType.get(moved.shape, value.type.element_type))
    assert made is not None, "the type is the array's own"
    return made.result


def require_blocks(tensor: Value, layout: Layout) -> None:
    """Raises ValueError where a tensor's blocks are not of the sizes that its layout says."""
    for axis, size in zip(layout.axes, linalg.sizes(tensor), strict=True):
        if axis.block is not None:
            loops.require_same(size, axis.block, f"blocks of {axis.dimension} in layout {layout.text}")


def in_plain_layout(op: OpView, data: Value, builder: RuleBuilder, layout: Layout, out_layout: Layout) -> Value:
    """The operation on its first operand without blocks, in the order of the dimensions; its result in its layout."""
    names = {name: None if name == "out_layout" else layout.dimensions for name in ("layout", "out_layout")}
    given = builder.call.attributes
    attributes = {**given, **{key: text for key, text in names.items() if key in given}}
    operands = by_name(op, builder.operands)
    operands[op.definition.operands[0].name] = to_plain(_with_blocks(data, builder, layout), layout)
    result = from_plain(op.definition(**operands, **attributes), out_layout)
    return builder.cast(result, builder.result_infos[0])


def _with_blocks(data: Value, builder: RuleBuilder, layout: Layout) -> Value:
    """The tensor with blocks of the layout's sizes in its type, which the run checks."""
    info = builder.info(data)
    assert isinstance(info, TensorInfo) and info.shape is not None
    sizes = [size if axis.block is None else axis.block for axis, size in zip(layout.axes, info.shape, strict=True)]
    return builder.cast(data, info.with_shape(sizes))


def to_plain(value: Value, layout: Layout) -> Value:
    """A tensor in a layout as one with a dimension for each letter, in the order of the dimensions."""
    whole: dict[str, Any] = {}
    for index, axis in enumerate(layout.axes):
        place = ir.AffineDimExpr.get(index)
        if axis.block is None:
            whole[axis.dimension] = place
    for index, axis in enumerate(layout.axes):
        if axis.block is not None:
            scaled = ir.AffineMulExpr.get(whole[axis.dimension], ir.AffineConstantExpr.get(axis.block))
            whole[axis.dimension] = ir.AffineAddExpr.get(scaled, ir.AffineDimExpr.get(index))
    results = [whole[dimension] for dimension in layout.dimensions]
    return _transformed(value, ir.AffineMap.get(len(layout.axes), 0, results))


def from_plain(value: Value, layout: Layout) -> Value:
    """The inverse; where blocks are not full, zeros fill them."""
    inner: dict[str, int] = {}
    results: list[Any] = []
    for axis in reversed(layout.axes):
        place = ir.AffineDimExpr.get(layout.dimensions.index(axis.dimension))
        if axis.block is None:
            results.append(_divided(place, layout.block_of(axis.dimension)))
            continue
        step = inner.get(axis.dimension, 1)
        results.append(ir.AffineModExpr.get(_divided(place, step), ir.AffineConstantExpr.get(axis.block)))
        inner[axis.dimension] = step * axis.block
    return _transformed(value, ir.AffineMap.get(len(layout.dimensions), 0, results[::-1]))


def _divided(expression: Any, divisor: int) -> Any:
    if divisor == 1:
        return expression
    return ir.AffineFloorDivExpr.get(expression, ir.AffineConstantExpr.get(divisor))


def _transformed(value: Value, index_map: Any) -> Value:
    if index_map == ir.AffineMap.get_identity(index_map.n_dims):
        return value
    if index_map.is_permutation:
        axes = [result.maybe_downcast().position for result in index_map.results]
        return relax.ops["permute_dims"](value, axes=axes)
    zero = 0 if is_int(str(decode(value.type).dtype)) else 0.0  # type: ignore[union-attr]
    return relax.ops["layout_transform"](value, index_map=index_map, pad_value=zero)
