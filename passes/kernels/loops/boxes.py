# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact footprint (a box) of an access in one step of a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ....dialects.core.indices import evaluated
from ....dialects.core.symbols_expr import Size, substituted, terms_of, variables_of
from .ranges import Range
from .tree import Access

#: Maximum number of places that are enumerated.
_MOST_PLACES = 1 << 20


Limits = Sequence[tuple[Size, Size]]


def box_of(access: Access, inner: Mapping[str, Size], where: Limits = ()) -> list[Range] | None:
    """Return the box that an access covers, by dimension, or None if it is no whole box or unknown.

    The variables in `inner` take all values for which each index of `where` is below its limit.
    """
    start = [substituted(index, dict.fromkeys(inner, 0)) for index in access.indices]
    moves = [index - first for index, first in zip(access.indices, start, strict=True)]
    used = [*moves, *(index for index, _ in where)]
    moving = {name: inner.get(name) for index in used for name in variables_of(index)}
    if None in moving.values():  # the footprint's shape depends on the step of an outer loop
        return None
    known = {name: extent for name, extent in moving.items() if isinstance(extent, int)}
    reached = None if where else _box_of_sums(moves, inner)
    if reached is None and len(known) == len(moving) and 0 < prod(known.values()) <= _MOST_PLACES:
        reached = _box_of_places(moves, known, where)
    return None if reached is None else [Range(s + r.start, r.extent) for s, r in zip(start, reached, strict=True)]


def _box_of_places(moves: Sequence[Size], extents: Mapping[str, int], where: Limits = ()) -> list[Range] | None:
    """Enumerate the places, and return their box if they fill it."""
    import numpy

    sizes = list(extents.values())
    grid = numpy.indices(sizes).reshape(len(sizes), prod(sizes))
    is_there = numpy.ones(prod(sizes), bool)
    for index, limit in where:
        is_there &= evaluated(index, dict(zip(extents, grid, strict=True))) < limit
    points = dict(zip(extents, grid[:, is_there], strict=True))
    place, found = numpy.zeros(int(is_there.sum()), "int64"), []
    for move in moves if len(place) else ():
        at = numpy.broadcast_to(evaluated(move, points), place.shape)
        low, high = int(at.min()), int(at.max())
        found.append(Range(low, high - low + 1))
        place = place * (high - low + 1) + at - low
    whole = prod(each.extent for each in found)
    return found if len(place) and len(numpy.unique(place)) == whole else None


def _box_of_sums(moves: Sequence[Size], extents: Mapping[str, Size]) -> list[Range] | None:
    """Return the box of sums of variables without gaps, if each variable occurs in one dimension only."""
    ranges: list[Range] = []
    seen: set[str] = set()
    for move in moves:
        reach: Size = 1
        for monomial, factor in sorted(terms_of(move).items(), key=lambda term: term[1]):
            (name,) = map(str, monomial) if len(monomial) == 1 and monomial[0].kind == "variable" else ("",)
            if not name or name in seen or not isinstance(reach, int) or not 0 < factor <= reach:
                return None
            seen.add(name)
            reach = factor * (extents[name] - 1) + reach
        ranges.append(Range(0, reach))
    return ranges
