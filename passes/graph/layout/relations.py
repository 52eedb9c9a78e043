# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts relative to the program's, as permutations of a value's own dimensions A, B, C, ...

An NCHW tensor that is stored as NHWC has the layout ACDB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from string import ascii_uppercase

from ....dialects.core.symbols import Dim, dim_floordiv, dim_mod, equal
from ....dialects.relax.infer.layouts import Layout, LayoutAxis, blocked_dimensions, is_permutation, positions

Shape = Sequence[Dim]
#: Tensors of higher rank keep their layout.
MOST_DIMENSIONS = len(ascii_uppercase)


@lru_cache(maxsize=MOST_DIMENSIONS + 1)
def as_it_is(rank: int) -> Layout:
    """Return the identity layout of a rank, which is the program's layout."""
    return Layout("", ascii_uppercase[:rank], ()).plain


@lru_cache(maxsize=1024)
def shape_in(layout: Layout, shape: tuple[Dim, ...]) -> tuple[Dim, ...] | None:
    """Return the sizes of a tensor's axes in a layout.

    The result is None if a block may not divide its dimension, or has one element without need.
    """
    if len(shape) > layout.rank:
        return None
    sizes = dict(zip(layout.dimensions, [*[1] * (layout.rank - len(shape)), *shape], strict=True))
    dims: list[Dim] = []
    for axis in layout.axes:
        size = sizes[axis.dimension]
        if axis.block is not None:
            is_single = axis.block == 1 and equal(size, 1) is not True
            if is_single or equal(dim_mod(size, layout.block_of(axis.dimension)), 0) is not True:
                return None
            dims.append(axis.block)
        else:
            block = layout.block_of(axis.dimension)
            dims.append(size if block == 1 else dim_floordiv(size, block))
    return tuple(dims)


@lru_cache(maxsize=1024)
def for_broadcast(layout: Layout, shape: tuple[Dim, ...]) -> Layout | None:
    """Return the layout in which an operand broadcasts to a layout, or None if the operand can stay unchanged."""
    missing = layout.rank - len(shape)
    ones = set(layout.dimensions[:missing])
    ones |= {layout.dimensions[missing + axis] for axis, size in enumerate(shape) if equal(size, 1) is True}
    return None if len(ones) == layout.rank else _set_sizes_to_one(layout, ones)


def reduced(layout: Layout, dimensions: Sequence[int], keepdims: bool) -> Layout:
    """Return the layout of a reduction's result."""
    letters = {layout.dimensions[dimension % layout.rank] for dimension in dimensions}
    return _set_sizes_to_one(layout, letters) if keepdims else without(layout, dimensions)


def _set_sizes_to_one(layout: Layout, letters: set[str]) -> Layout:
    """Return the layout with size 1 for these dimensions and their blocks."""
    return layout.with_axes(
        axis._replace(block=1) if axis.block and axis.dimension in letters else axis for axis in layout.axes
    )


def renamed(layout: Layout, names: Mapping[int, int], rank: int) -> Layout:
    """Rename the dimensions in `names` to dimensions of a tensor of this rank, and insert its other dimensions."""
    letters = {layout.dimensions[old]: ascii_uppercase[new] for old, new in names.items()}
    axes = [axis._replace(dimension=letters[axis.dimension]) for axis in layout.axes if axis.dimension in letters]
    for new in sorted({*range(rank)} - {*names.values()}):
        axes.insert(new, LayoutAxis(ascii_uppercase[new]))
    return as_it_is(rank).with_axes(axes)


@lru_cache(maxsize=1024)
def widened(layout: Layout | None, rank: int, wanted: int) -> Layout:
    """Extend the layout of a tensor of this rank by new dimensions in front. A layout of None is the program's."""
    more = wanted - rank
    return renamed(layout or as_it_is(rank), {axis: axis + more for axis in range(rank)}, wanted)


def without(layout: Layout, dimensions: Sequence[int]) -> Layout:
    """Return the layout that remains when dimensions are dropped."""
    rank = layout.rank
    dropped = {dimension % rank for dimension in dimensions}
    kept = [dimension for dimension in range(rank) if dimension not in dropped]
    return renamed(layout, {old: new for new, old in enumerate(kept)}, len(kept))


@lru_cache(maxsize=1024)
def between(current: Layout, wanted: Layout) -> Layout | None:
    """Return the relative layout that turns one layout into another, or None if no layout of its axes does."""
    own = as_it_is(len(current.axes))
    if is_permutation(current, wanted):
        return own.with_axes(own.axes[position] for position in positions(wanted, current))
    if blocked_dimensions(current) or sorted(current.dimensions) != sorted(wanted.dimensions):
        return None
    letters = {axis.dimension: own.dimensions[index] for index, axis in enumerate(current.axes)}
    return own.with_axes(axis._replace(dimension=letters[axis.dimension]) for axis in wanted.axes)


@lru_cache(maxsize=1024)
def behind(current: Layout, change: Layout) -> Layout | None:
    """Return the layout that results from a relative layout, or None. The inverse of `between`."""
    if len(current.axes) != change.rank:
        return None
    axes = []
    for axis in change.axes:
        own = current.axes[change.dimensions.index(axis.dimension)]
        if blocked_dimensions(change) and blocked_dimensions(current):
            return None
        axes.append(own if axis.block is None else LayoutAxis(own.dimension, axis.block))
    layout = current.with_axes(axes)
    return layout if between(current, layout) == change else None


@lru_cache(maxsize=1024)
def keeps_order(layout: Layout, wanted: Layout, shape: tuple[Dim, ...]) -> bool:
    """Check whether a tensor's elements have the same order in both layouts. Axes of size 1 may move."""
    one, other = _parts(layout, wanted, shape), _parts(wanted, layout, shape)
    return one is not None and one == other


def _parts(layout: Layout, other: Layout, shape: Shape) -> list[tuple[str, int]] | None:
    """Return the axes larger than 1, split at both layouts' blocks, or None if the layouts split differently.

    A part is a dimension and a number. Number 0 is the axis outside of the dimension's blocks.
    """
    sizes = dict(zip(layout.dimensions, [*[1] * (layout.rank - len(shape)), *shape], strict=True))
    parts: list[tuple[str, int]] = []
    is_one: set[tuple[str, int]] = set()
    for axis in layout.axes:
        letter = axis.dimension
        own, others = layout.blocks_of(letter), other.blocks_of(letter)
        if own and others and own != others:
            return None
        blocks = own or others
        is_one |= {(letter, number) for number, block in enumerate(blocks, 1) if block == 1}
        is_one |= {(letter, 0)} if equal(sizes[letter], prod(blocks)) is True else set()
        if axis.block is not None:
            parts.append((letter, 1 + sum(dimension == letter and number > 0 for dimension, number in parts)))
        else:
            parts += [(letter, number) for number in ([0] if own else range(len(blocks) + 1))]
    return [part for part in parts if part not in is_one]
