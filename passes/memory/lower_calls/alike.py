# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoised dependence tests: equivalent pairs of accesses, frequent in unrolled loops, are tested once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from .accesses import AxisRange, BoxAccess


class _AccessKind(NamedTuple):
    """Equivalence class of accesses that differ only in the constants of their indices, and one access's constants."""

    number: int
    #: Positions of the enclosing operations, outermost first, and constants of the indices. A known address comes
    #: first.
    trail: tuple[int, ...]
    places: tuple[int, ...]


def distinct_pairs(reads: Sequence[BoxAccess], writes: Sequence[BoxAccess]) -> Iterator[tuple[BoxAccess, BoxAccess]]:
    """Yield each read with each write, except pairs with the same relative position as an earlier pair.

    Such pairs are in the same blocks, in the same order, and have the same distance in each dimension.
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
    """Return the distances of the upper bounds from the first index."""
    ends = [bound.plus(axis.first, -1) for bound in axis.bounds]
    return tuple([(end.number, frozenset(end.terms.items())) for end in ends])


def _order(one: int, other: int) -> int:
    return (one > other) - (one < other)
