# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interval analysis of indices: start and extent over all steps of some loops, for fixed steps of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ....dialects.core.indices import is_below, is_never_negative
from ....dialects.core.symbols_expr import Size, from_terms, sole_atom, substituted, terms_of
from ....dialects.core.symbols_terms import Atom
from .tree import Block, Place


class Range(NamedTuple):
    """Interval of `extent` elements from `start` on."""

    start: Size
    extent: Size


def factor_of(index: Size, name: str) -> int | None:
    """Return the distance by which an index moves at each step of a variable, or None if the distance varies."""
    factor = 0
    for monomial, coefficient in terms_of(index).items():
        if not _has(monomial, {name}):
            continue
        if len(monomial) != 1 or monomial[0].kind != "variable":
            return None
        factor = coefficient
    return factor


def substitute_zero(index: Size, name: str) -> Size:
    """Return the index with a variable set to 0."""
    return substituted(index, {name: 0})


def is_multiple(index: Size, number: int) -> bool:
    """Return True if an index is a multiple of a number for all values of its variables."""
    for monomial, coefficient in terms_of(index).items():
        rest = [atom for atom in monomial if atom.kind == "%" and all(is_multiple(arg, number) for arg in atom.args)]
        if coefficient % number and not rest:
            return False
    return True


def turn_of(index: Size) -> tuple[Size, int] | None:
    """Return (x, number) of x % number, or None for other indices."""
    atom = sole_atom(index)
    if atom is None or atom.kind != "%" or not isinstance(atom.args[1], int):
        return None
    return atom.args[0], atom.args[1]


def range_of(index: Size, inner: Mapping[str, Size]) -> Range | None:
    """Return the interval of an index while these variables take all values, or None if it is unknown."""
    start: Size = from_terms({m: c for m, c in terms_of(index).items() if not _has(m, inner)})
    extent: Size = 1
    for monomial, coefficient in terms_of(index).items():
        if not _has(monomial, inner):
            continue
        if len(monomial) != 1:
            return None
        if (reached := _atom_range(monomial[0], inner)) is None:
            return None
        reach = abs(coefficient) * (reached.extent - 1)
        start = start + coefficient * reached.start - (reach if coefficient < 0 else 0)
        extent = extent + reach
    return Range(start, extent)


def _atom_range(atom: Atom, inner: Mapping[str, Size]) -> Range | None:
    if atom.kind == "variable":
        return Range(0, inner[str(atom)])
    if atom.kind == "//" and isinstance(atom.args[1], int) and atom.args[1] > 0:
        if (whole := range_of(atom.args[0], inner)) is None:
            return None
        by = atom.args[1]
        first = whole.start // by
        span = ((whole.start + whole.extent - 1) // by) - first
        # The position of the first step in a group may be unknown: then the interval may reach one group more.
        return Range(first, span + 1) if isinstance(span, int) else Range(first, (whole.extent + by - 2) // by + 1)
    if set(atom.variables) <= set(inner) and atom.lowest is not None and atom.highest is not None:
        return Range(atom.lowest, atom.highest - atom.lowest + 1)
    if atom.kind == "%" and isinstance(atom.args[1], int) and atom.args[1] > 0:
        return Range(0, atom.args[1])
    return None


def _has(monomial: Sequence[Atom], names: Mapping[str, object] | set[str]) -> bool:
    return any(not atom.variables.isdisjoint(names) for atom in monomial)


def ranges_of(places: Sequence[Place], inner: Mapping[str, Size], shape: Sequence[Size]) -> list[Range]:
    """Return the region of a buffer of a shape that the places cover.

    Dimensions with an unknown range are covered wholly.
    """
    ranges = []
    for dim, size in enumerate(shape):
        indices = [place[dim] for place in places]
        each = [None if index is None else range_of(index, inner) for index in indices]
        ranges.append(_joined([one for one in each if one is not None] if None not in each else [], size))
    return ranges


def _joined(ranges: Sequence[Range], size: Size) -> Range:
    whole = Range(0, size)
    if not ranges:
        return whole
    first = ranges[0]
    offsets = [each.start - first.start for each in ranges]
    low = min((offset for offset in offsets if isinstance(offset, int)), default=0)
    extent: Size = 1
    for offset, range_ in zip(offsets, ranges, strict=True):
        if not isinstance(offset, int):
            return whole
        reach = offset - low + range_.extent
        if isinstance(reach, int) and isinstance(extent, int):
            extent = max(extent, reach)
        elif extent == 1 or extent == reach:
            extent = reach
        else:
            return whole
    start = first.start + low
    if isinstance(extent, int) and isinstance(size, int) and extent >= size:
        return whole
    return Range(start, extent)


class Guard(NamedTuple):
    """Condition of a point: an index is below a limit, not below 0, or both."""

    at: Size
    limit: Size
    below: bool
    beyond: bool
    #: True if only steps of reductions depend on the condition, so that the reductions' init does not need it.
    of_steps: bool = False

    def conditions(self, number: Callable[[Size], Any]) -> list[Any]:
        """Return the conditions, in terms of the values that `number` gives for sizes."""
        at = number(self.at)
        beyond = [at < number(self.limit)] if self.beyond else []
        return [*beyond, at > -1] if self.below else beyond


def _of_quotient(index: Size, limit: Size) -> tuple[Size, Size]:
    """Return x and (n - 1) * y for x // y + 1 < n.

    If fused loops go too far, all indices made of them do. A quotient by a size of 0 has no points.
    """
    more = terms_of(index).get((), 0)
    atom = sole_atom(index - more)
    if atom is None or atom.kind != "//" or not is_never_negative(atom.args[1]):
        return index, limit
    whole, by = atom.args
    # adding a positive number to a non-negative one keeps the sign
    is_same = not more or (more > 0 and is_never_negative(whole))
    return (whole, (limit - more) * by) if is_same else (index, limit)


def guards(block: Block, extents: Mapping[str, Size]) -> list[Guard]:
    """Return the conditions of a block's points: loops may exceed the extents of its iters or of split loops."""
    found: dict[tuple[Size, Size], Guard] = {}
    for index, limit in [_of_quotient(*each) for each in block.where]:
        if not is_below(index, limit, extents):
            found[index, limit] = Guard(index, limit, below=False, beyond=True)
    for iter_, binding in zip(block.iters, block.bindings, strict=True):
        index, limit = _of_quotient(binding, iter_.extent)
        below, beyond = not is_never_negative(index), not is_below(index, limit, extents)
        if below or beyond:
            found[index, limit] = Guard(index, limit, below, beyond)
    point = block.point()
    for index, limit in block.within:
        at = substituted(index, point)
        if not is_below(at, limit, extents):
            found.setdefault((at, limit), Guard(at, limit, below=False, beyond=True, of_steps=True))
    return list(found.values())
