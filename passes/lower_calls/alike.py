# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoised dependence tests: equivalent pairs of accesses, of which unrolled loops have many, are tested once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from .accesses import AxisRange, BoxAccess


class _AccessKind(NamedTuple):
    """What accesses have in common that differ in nothing but the numbers in their indices."""

    number: int
    #: The positions of what holds them, outermost first, and where they are: the address first, where it is known.
    trail: tuple[int, ...]
    places: tuple[int, ...]


def distinct_pairs(reads: Sequence[BoxAccess], writes: Sequence[BoxAccess]) -> Iterator[tuple[BoxAccess, BoxAccess]]:
    """Each read with each write, but those whose relative position another pair had before.

    Such are in the same blocks, in the same order there, and as far apart in each dimension.
    """
    kinds: dict[Hashable, int] = {}
    seen: set[Hashable] = set()
    sources = [(read, _kind(read, kinds)) for read in reads]
    for write in writes:
        target = _kind(write, kinds)
        for read, source in sources:
            order = tuple(map(_order, source.trail, target.trail))
            distances = tuple([one - other for one, other in zip(source.places, target.places, strict=False)])
            key = source.number, target.number, order, distances
            if key not in seen:
                seen.add(key)
                yield read, write


def _kind(access: BoxAccess, kinds: dict[Hashable, int]) -> _AccessKind:
    axes = () if access.axes is None else (access.address, *access.axes)
    varying = tuple([axis and (frozenset(axis.first.terms.items()), axis.length, _ends(axis)) for axis in axes])
    key = (access.levels, access.view.frame, access.view.depends, varying)
    places = tuple([0 if axis is None else axis.first.number for axis in axes])
    return _AccessKind(kinds.setdefault(key, len(kinds)), access.trail, places)


def _ends(axis: AxisRange) -> tuple[Hashable, ...]:
    """How far behind the first index those are that none is behind."""
    ends = [bound.plus(axis.first, -1) for bound in axis.bounds]
    return tuple([(end.number, frozenset(end.terms.items())) for end in ends])


def _order(one: int, other: int) -> int:
    return (one > other) - (one < other)
