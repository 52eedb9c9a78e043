# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of tensors between layouts: constants at compile time, others by permute_dims or layout_transform."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from ....bindings.affine import linear_form
from ....bindings.ir import AffineExpr, AffineMap, Value
from ....bindings.mlir import ir
from ....dialects import relax
from ....dialects.core.infos import is_int
from ....dialects.relax.constants import elements_attribute
from ....dialects.relax.infer.layouts import Layout, LayoutAxis, is_permutation, positions
from ....dialects.relax.known_constants import constant_op, elements_of
from ....dialects.relax.values import dtype_of

if TYPE_CHECKING:
    from numpy import ndarray


def converted(value: Value, layout: Layout, wanted: Layout, *, are_full: bool = False) -> Value:
    """Convert a tensor to another layout of the same dimensions. Zeros pad partial blocks, unless `are_full`."""
    if layout.axes == wanted.axes:
        return value
    if is_permutation(layout, wanted):
        return permuted(value, positions(wanted, layout))
    array = elements_of(value)
    moved = None if array is None else converted_elements(array, layout, wanted)
    if moved is not None:
        return constant_like(value, moved)
    padding = {} if are_full else {"pad_value": 0 if is_int(dtype_of(value)) else 0.0}
    return relax.dialect.ops["layout_transform"](value, index_map=map_between(layout, wanted), **padding)


def permuted(value: Value, axes: Sequence[int]) -> Value:
    """Permute the axes of a graph value."""
    if list(axes) == sorted(axes):
        return value
    if (array := elements_of(value)) is None:
        return relax.permute_dims(value, axes=list(axes))
    return constant_like(value, array.transpose(axes))


# ---- constants ----


def constant_like(value: Value, elements: ndarray) -> Value:
    """Return a constant with a tensor's element type."""
    return constant_op(elements_attribute(elements, value.type.element_type)).result


def converted_elements(array: ndarray, layout: Layout, wanted: Layout) -> ndarray | None:
    """Convert an array to another layout of the same dimensions. Return None if a block would not be full."""
    if (steps := _steps(layout, wanted, array.shape)) is None:
        return None
    first, shape, last = steps
    return array.transpose(first).reshape(shape).transpose(last)


@lru_cache(maxsize=256)
def _steps(layout: Layout, wanted: Layout, given: tuple[int, ...]) -> tuple[list[int], list[int], list[int]] | None:
    """Return the axes grouped by dimension, the split shape, and the order of the split axes."""
    first = _group_by_dimension(layout)
    found, sizes, at = [given[place] for place in first], [], 0
    for letter in layout.dimensions:
        count = len(_places(layout, letter))
        sizes.append(prod(found[at : at + count]))
        at += count
    shape: list[int] = []
    for letter, size in zip(layout.dimensions, sizes, strict=True):
        if size % wanted.block_of(letter):
            return None
        shape += [size // wanted.block_of(letter), *wanted.blocks_of(letter)]
    order = _group_by_dimension(wanted)
    return first, shape, sorted(range(len(order)), key=order.__getitem__)


def _group_by_dimension(layout: Layout) -> list[int]:
    """Return the axes grouped by dimension, from the outermost to the innermost."""
    return [place for letter in layout.dimensions for place in _places(layout, letter)]


def _places(layout: Layout, letter: str) -> list[int]:
    """Return the positions of a dimension's axes, the outermost axis first."""
    places = [place for place, axis in enumerate(layout.axes) if axis.dimension == letter]
    return sorted(places, key=lambda place: layout.axes[place].block is not None)


# ---- maps ----


def map_between(layout: Layout, wanted: Layout) -> AffineMap:
    """Return the affine map from indices in one layout to indices in another of the same dimensions."""
    affine_exprs: dict[int, AffineExpr] = {}
    for letter in layout.dimensions:
        old, new = _places(layout, letter), _places(wanted, letter)
        given = [ir.AffineDimExpr.get(place) for place in old]
        if layout.blocks_of(letter) != wanted.blocks_of(letter):
            given = _split(_joined(given, layout.blocks_of(letter)), wanted.blocks_of(letter))
        affine_exprs.update(zip(new, given, strict=True))
    return ir.AffineMap.get(len(layout.axes), 0, [affine_exprs[place] for place in range(len(wanted.axes))])


def _joined(parts: Sequence[AffineExpr], blocks: Sequence[int]) -> AffineExpr:
    """Join the index of an outer axis and the indices within its blocks."""
    whole = parts[0]
    for part, block in zip(parts[1:], blocks, strict=True):
        whole = ir.AffineAddExpr.get(ir.AffineMulExpr.get(whole, ir.AffineConstantExpr.get(block)), part)
    return whole


def _split(whole: AffineExpr, blocks: Sequence[int]) -> list[AffineExpr]:
    """Split an index into an outer index and indices within blocks. The inverse of `_joined`."""
    parts: list[AffineExpr] = []
    step = 1
    for block in reversed(blocks):
        parts.append(ir.AffineModExpr.get(_divide(whole, step), ir.AffineConstantExpr.get(block)))
        step *= block
    return [_divide(whole, step), *reversed(parts)]


def _divide(expression: AffineExpr, divisor: int) -> AffineExpr:
    if divisor == 1:
        return expression
    return ir.AffineFloorDivExpr.get(expression, ir.AffineConstantExpr.get(divisor))


# ---- maps of layout_transform ----


def layout_behind(index_map: AffineMap, dimensions: str) -> Layout | None:
    """Return the layout that a map produces from a tensor with these dimensions, or None for other maps."""
    axes: list[LayoutAxis] = []
    for result in index_map.results:
        expression, block = result.maybe_downcast(), None
        if isinstance(expression, ir.AffineModExpr):
            expression, block = expression.lhs.maybe_downcast(), expression.rhs.maybe_downcast()
        if isinstance(expression, ir.AffineFloorDivExpr):
            expression = expression.lhs.maybe_downcast()
        if not isinstance(expression, ir.AffineDimExpr) or not isinstance(block, (ir.AffineConstantExpr, type(None))):
            return None
        axes.append(LayoutAxis(dimensions[expression.position], block and block.value))
    layout = _with_all(axes, dimensions)
    return layout if layout is not None and map_between(layout.plain, layout) == index_map else None


def layout_before(index_map: AffineMap, dimensions: str) -> Layout | None:
    """Return the layout from which a map produces a tensor with these dimensions, or None for other maps."""
    layout_axis: dict[int, LayoutAxis] = {}
    for letter, result in zip(dimensions, index_map.results, strict=True):
        terms = sorted(_terms(result), reverse=True)
        for (factor, place), (above, _) in zip(terms, [(0, 0), *terms], strict=False):
            layout_axis[place] = LayoutAxis(letter, above // factor if above and factor else None)
    axes = [layout_axis[place] for place in range(index_map.n_dims) if place in layout_axis]
    layout = _with_all(axes, dimensions) if len(axes) == index_map.n_dims else None
    if layout is None:
        return None
    # A sum may be written in several ways.
    sums = zip(map_between(layout, layout.plain).results, index_map.results, strict=True)
    return layout if all(sorted(_terms(own)) == sorted(_terms(given)) for own, given in sums) else None


def _with_all(axes: Sequence[LayoutAxis], dimensions: str) -> Layout | None:
    """Return a layout of these axes if each dimension has exactly one outer axis."""
    outer = sorted(axis.dimension for axis in axes if axis.block is None)
    return Layout("", dimensions, ()).with_axes(axes) if outer == sorted(dimensions) else None


def _terms(expression: AffineExpr) -> list[tuple[int, int]]:
    """Return the terms of a sum as (factor, dimension), or an empty list for other expressions."""
    form = linear_form(expression)
    return [] if form is None or form.constant else [(factor, dim) for dim, factor in form.factors]
