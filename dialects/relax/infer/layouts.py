# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts such as "NHWC" or "NCHW16c": order and blocks of an operator's dimensions in a tensor.

A capital letter is a dimension. A size with a small letter is a block of a dimension: NCHW16c splits C into C blocks of
16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ...core.equalities import contradict
from ...core.opdef import Call
from ...core.symbols import Dim, ceildiv, dim_mul

_MAX_BLOCK_DIGITS = 9


class LayoutProblem(ValueError):
    """Invalid layout. The message gives the reason."""


class LayoutAxis(NamedTuple):
    """One axis of a tensor: a whole dimension (or its outer part), or a block of `block` elements of it."""

    dimension: str
    block: int | None = None

    @property
    def text(self) -> str:
        return self.dimension if self.block is None else f"{self.block}{self.dimension.lower()}"


class Layout:
    """Axes of a layout.

    `dimensions` is the order in operator definitions, such as "NCHW".

    Equal layouts are one object, so that layout plans compare and look up identities.
    """

    __slots__ = ("axes", "dimensions", "rank", "text")

    text: str
    dimensions: str
    axes: tuple[LayoutAxis, ...]
    #: Number of dimensions, independent of the number of axes.
    rank: int

    def __new__(cls, text: str, dimensions: str, axes: tuple[LayoutAxis, ...]) -> Layout:
        if (layout := _LAYOUTS.get((text, dimensions, axes))) is None:
            layout = super().__new__(cls)
            layout.text, layout.dimensions, layout.axes, layout.rank = text, dimensions, axes, len(dimensions)
            layout = _LAYOUTS.setdefault((text, dimensions, axes), layout)
        return layout

    def __repr__(self) -> str:
        return f"Layout({self.text!r}, {self.dimensions!r})"

    def blocks_of(self, dimension: str) -> list[int]:
        """Return a dimension's blocks, outer blocks first."""
        return [axis.block for axis in self.axes if axis.dimension == dimension and axis.block is not None]

    def block_of(self, dimension: str) -> int:
        """Return the elements of a dimension in its blocks together, or 1 for an unblocked dimension."""
        return prod(self.blocks_of(dimension))

    @property
    def plain(self) -> Layout:
        """Layout with the dimensions in definition order, without blocks."""
        return self.with_axes(map(LayoutAxis, self.dimensions))

    def place(self, dimension: int, *, outer: bool = False) -> int | None:
        """Return the axis of a dimension, counted from the front, or None if the dimension is blocked.

        With `outer`, return the axis of the whole blocks.
        """
        letter = self.dimensions[dimension % self.rank]
        return self.axes.index(LayoutAxis(letter)) if outer or not self.blocks_of(letter) else None

    def places(self, dimensions: Iterable[int]) -> list[int] | None:
        """Return the axes of dimensions, in their order, or None if one is blocked."""
        found = [self.place(dimension) for dimension in dimensions]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None

    def axes_of(self, dimensions: Iterable[int]) -> list[int]:
        """Return the axes of these dimensions, blocks included."""
        letters = {self.dimensions[dimension % self.rank] for dimension in dimensions}
        return [index for index, axis in enumerate(self.axes) if axis.dimension in letters]

    def with_axes(self, axes: Iterable[LayoutAxis]) -> Layout:
        """Return a layout with other axes of the same dimensions."""
        layout_axis = tuple(axes)
        return Layout("".join(axis.text for axis in layout_axis), self.dimensions, layout_axis)


_LAYOUTS: dict[tuple[str, str, tuple[LayoutAxis, ...]], Layout] = {}


@lru_cache(maxsize=256)
def parse_layout(text: str, dimensions: str) -> Layout:
    """Parse a layout of exactly these dimensions, in any order. Raise LayoutProblem for an invalid layout."""
    axes: list[LayoutAxis] = []
    size = ""
    for letter in text:
        if letter in "0123456789":
            size += letter
            continue
        axes.append(_axis(letter, size, dimensions))
        size = ""
    if size:
        raise LayoutProblem(f"ends in the size {size[:_MAX_BLOCK_DIGITS]}, which needs the letter of its block")
    whole = [axis.dimension for axis in axes if axis.block is None]
    for dimension in dimensions:
        if whole.count(dimension) > 1:
            raise LayoutProblem(f"names dimension '{dimension}' twice")
        if dimension not in whole:
            raise LayoutProblem(f"misses dimension '{dimension}'")
    return Layout(text, dimensions, tuple(axes))


def _axis(letter: str, size: str, dimensions: str) -> LayoutAxis:
    if letter.upper() not in dimensions:
        raise LayoutProblem(f"names an unknown dimension {letter!r}")
    if letter.isupper():
        if size:
            hint = f"only blocks have one, such as '{size[:_MAX_BLOCK_DIGITS]}{letter.lower()}'"
            raise LayoutProblem(f"gives dimension '{letter}' a size, but {hint}")
        return LayoutAxis(letter)
    if not size or len(size) > _MAX_BLOCK_DIGITS or int(size) == 0:
        raise LayoutProblem(
            f"needs a size of 1 to {'9' * _MAX_BLOCK_DIGITS} before block '{letter}', such as '4{letter}'"
        )
    return LayoutAxis(letter.upper(), int(size))


def blocked_dimensions(layout: Layout) -> set[str]:
    """Return the dimensions that the layout splits into blocks."""
    return {axis.dimension for axis in layout.axes if axis.block is not None}


def is_permutation(layout: Layout, other: Layout) -> bool:
    """Check whether both layouts have the same axes, blocks included, in any order.

    Blocks of one dimension with the opposite nesting differ.
    """
    dimensions = layout.dimensions
    same = sorted(dimensions) == sorted(other.dimensions)
    return same and all(layout.blocks_of(dimension) == other.blocks_of(dimension) for dimension in dimensions)


def positions(layout: Layout, other: Layout) -> list[int]:
    """Return the index of each axis of a layout in a permutation of it."""
    others = _number_axes(other.axes)
    return [others.index(axis) for axis in _number_axes(layout.axes)]


def _number_axes(axes: Iterable[LayoutAxis]) -> list[tuple[LayoutAxis, int]]:
    """Return axes with the number of equal axes before: a dimension may have equal nested blocks."""
    seen: list[LayoutAxis] = []
    numbered = []
    for axis in axes:
        numbered.append((axis, seen.count(axis)))
        seen.append(axis)
    return numbered


def layouts_of(call: Call) -> dict[str, Layout]:
    """Return the layouts of operands and results, by name, that the operator's row states."""
    layouts: dict[str, Layout] = {}
    for name, fact in call.definition.layouts.items():
        if (text := call.attributes[fact.attribute]) is None:
            text = next((layout.text for layout in layouts.values()), fact.dimensions_in(""))
        dimensions = fact.dimensions_in(text)
        try:
            layouts[name] = parse_layout(text, dimensions)
        except LayoutProblem as problem:
            raise call.fail(
                f"{call.describe(fact.attribute)} {problem} (expects the dimensions {', '.join(dimensions)} in any "
                f"order, such as '{dimensions}')"
            ) from None
    return layouts


def sizes_in_layout(call: Call, name: str, layout: Layout) -> tuple[Dim, ...]:
    """Return a tensor operand's sizes in the order of `layout.dimensions`; all are None for an unknown rank."""
    if (shape := call.operands[name].shape) is None:
        return (None,) * len(layout.dimensions)
    if len(shape) != len(layout.axes):
        raise call.fail(
            f"{call.describe(name)} must be {len(layout.axes)}-D to have layout '{layout.text}', but is {len(shape)}-D"
        )
    outer: dict[str, Dim] = {}
    for position, (axis, size) in enumerate(zip(layout.axes, shape, strict=True)):
        if axis.block is None:
            outer[axis.dimension] = size
        elif contradict(size, axis.block):
            raise call.fail(
                f"{call.describe(name)} must have {axis.block} elements in dimension {position} "
                f"to have layout '{layout.text}', but has {size}"
            )
    return tuple(dim_mul(outer[dimension], layout.block_of(dimension)) for dimension in layout.dimensions)


def shape_in_layout(layout: Layout, sizes: Sequence[Dim]) -> tuple[Dim, ...]:
    """Return the shape of a tensor for sizes in the order of `layout.dimensions`.

    A size that its blocks do not divide is rounded up to whole blocks.
    """
    blocks = {
        dimension: ceildiv(size, layout.block_of(dimension))
        for dimension, size in zip(layout.dimensions, sizes, strict=True)
    }
    return tuple(blocks[axis.dimension] if axis.block is None else axis.block for axis in layout.axes)
