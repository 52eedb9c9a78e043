# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts such as "NHWC" or "NCHW16c": the order and blocks of an operator's dimensions in a tensor.

A capital is a dimension, a size with a small letter a block of one: NCHW16c splits C into C blocks of 16.
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
    """A layout that cannot be read; the message says why."""


class LayoutAxis(NamedTuple):
    """One axis of a tensor: a whole dimension (or its outer part), or a block of `block` elements of it."""

    dimension: str
    block: int | None = None

    @property
    def text(self) -> str:
        return self.dimension if self.block is None else f"{self.block}{self.dimension.lower()}"


class Layout:
    """The axes of a layout. `dimensions` is the order in which operators are defined, such as "NCHW".

    There is one object of each, so that plans of layouts compare and look up identities.
    """

    __slots__ = ("axes", "dimensions", "rank", "text")

    text: str
    dimensions: str
    axes: tuple[LayoutAxis, ...]
    #: How many dimensions it has, whatever axes these have.
    rank: int

    def __new__(cls, text: str, dimensions: str, axes: tuple[LayoutAxis, ...]) -> Layout:
        found = _LAYOUTS.get((text, dimensions, axes))
        if found is None:
            found = super().__new__(cls)
            found.text, found.dimensions, found.axes, found.rank = text, dimensions, axes, len(dimensions)
            found = _LAYOUTS.setdefault((text, dimensions, axes), found)
        return found

    def __repr__(self) -> str:
        return f"Layout({self.text!r}, {self.dimensions!r})"

    def blocks_of(self, dimension: str) -> list[int]:
        """A dimension's blocks, outer ones first."""
        return [axis.block for axis in self.axes if axis.dimension == dimension and axis.block is not None]

    def block_of(self, dimension: str) -> int:
        """How many elements of a dimension its blocks hold together; 1 where it is not blocked."""
        return prod(self.blocks_of(dimension))

    @property
    def plain(self) -> Layout:
        """The dimensions in their order, none blocked."""
        return self.with_axes(map(LayoutAxis, self.dimensions))

    def place(self, dimension: int, *, outer: bool = False) -> int | None:
        """Which axis a dimension is, counted from the front; None where it is blocked, unless `outer` asks for its
        blocks as wholes."""
        letter = self.dimensions[dimension % self.rank]
        return self.axes.index(LayoutAxis(letter)) if outer or not self.blocks_of(letter) else None

    def places(self, dimensions: Iterable[int]) -> list[int] | None:
        """Which axes dimensions are, in their order; None where one is blocked."""
        found = [self.place(dimension) for dimension in dimensions]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None

    def axes_of(self, dimensions: Iterable[int]) -> list[int]:
        """The axes of these dimensions, blocks included."""
        letters = {self.dimensions[dimension % self.rank] for dimension in dimensions}
        return [index for index, axis in enumerate(self.axes) if axis.dimension in letters]

    def with_axes(self, axes: Iterable[LayoutAxis]) -> Layout:
        """Other axes of the same dimensions."""
        made = tuple(axes)
        return Layout("".join(axis.text for axis in made), self.dimensions, made)


_LAYOUTS: dict[tuple[str, str, tuple[LayoutAxis, ...]], Layout] = {}


@lru_cache(maxsize=256)
def parse_layout(text: str, dimensions: str) -> Layout:
    """Reads a layout of exactly these dimensions, in any order. Raises LayoutProblem."""
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
    return {axis.dimension for axis in layout.axes if axis.block is not None}


def is_permutation(layout: Layout, other: Layout) -> bool:
    """Whether both have the same axes, blocks included, maybe in another order.

    Blocks of one dimension that are nested the other way around are other blocks.
    """
    dimensions = layout.dimensions
    same = sorted(dimensions) == sorted(other.dimensions)
    return same and all(layout.blocks_of(dimension) == other.blocks_of(dimension) for dimension in dimensions)


def positions(layout: Layout, other: Layout) -> list[int]:
    """Where each axis of a layout is in another that is a permutation of it."""
    others = _numbered(other.axes)
    return [others.index(axis) for axis in _numbered(layout.axes)]


def _numbered(axes: Iterable[LayoutAxis]) -> list[tuple[LayoutAxis, int]]:
    """Axes with how often they came before: a dimension may have equal blocks inside of each other."""
    seen: list[LayoutAxis] = []
    numbered = []
    for axis in axes:
        numbered.append((axis, seen.count(axis)))
        seen.append(axis)
    return numbered


def layouts_of(call: Call) -> dict[str, Layout]:
    """The layouts of operands and results, by name, that the operator's row states."""
    found: dict[str, Layout] = {}
    for name, fact in call.definition.layouts.items():
        text = call.attributes[fact.attribute]
        if text is None:
            text = next((layout.text for layout in found.values()), fact.dimensions_in(""))
        dimensions = fact.dimensions_in(text)
        try:
            found[name] = parse_layout(text, dimensions)
        except LayoutProblem as problem:
            raise call.fail(
                f"{call.describe(fact.attribute)} {problem} (expects the dimensions {', '.join(dimensions)} in any "
                f"order, such as '{dimensions}')"
            ) from None
    return found


def sizes_in_layout(call: Call, name: str, layout: Layout) -> tuple[Dim, ...]:
    """A tensor operand's sizes in the order of `layout.dimensions`; all are unknown where its rank is."""
    shape = call.operands[name].shape
    if shape is None:
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
    """The shape of a tensor whose sizes are given in the order of `layout.dimensions`.

    A size that its blocks do not divide is rounded up to whole blocks.
    """
    blocks = {
        dimension: ceildiv(size, layout.block_of(dimension))
        for dimension, size in zip(layout.dimensions, sizes, strict=True)
    }
    return tuple(blocks[axis.dimension] if axis.block is None else axis.block for axis in layout.axes)
