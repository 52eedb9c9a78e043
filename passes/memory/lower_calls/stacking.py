# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic arena offsets: one region for tensors whose sizes grow with different symbols, few of them large at once.

Offsets and sizes are sums of multiples of a few products of symbols. An offset is behind another one if each factor is
at least as large. This holds for all values of the symbols.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import add, le, mul
from typing import NamedTuple

from ....dialects.core.symbols import Size, SymbolError
from ....dialects.core.symbols_expr import SymExpr, extremum, terms_of
from ....emit.memrefs import ALIGNMENT
from .arranging import Timeline, arrange, may_meet
from .planned_buffer import PlannedBuffer

#: Factors of the products.
Counts = tuple[int, ...]
#: Values of all symbols for the comparison of placements.
_SAMPLES = (8, 64, 512)
#: Required size relative to separate regions, in at least one sample.
_WORTH = 0.97


class SizeGroup(NamedTuple):
    """Tensors whose sizes are multiples of one expression: factors of their sizes, and of their padded sizes."""

    counts: dict[PlannedBuffer, int]
    rooms: dict[PlannedBuffer, int]

    def without(self, others: Collection[PlannedBuffer]) -> SizeGroup:
        return SizeGroup(*({buffer: count for buffer, count in each.items() if buffer not in others} for each in self))

    def arrange(self) -> tuple[dict[PlannedBuffer, int], int]:
        """Place the tensors in a separate region. Return the places and the end."""
        places, _ = arrange(self.rooms)
        return places, max((place + self.counts[buffer] for buffer, place in places.items()), default=0)


class Stack(NamedTuple):
    """Place of each tensor, and the end of the last one."""

    places: dict[PlannedBuffer, Size]
    end: Size


def plan_stack(groups: Mapping[SymExpr, SizeGroup]) -> Stack | None:
    """Return a shared placement of tensors of different units if it is smaller than separate regions, else None."""
    units = sorted(filter(_is_product, groups), key=lambda unit: _rank(unit, groups[unit]))
    if len(units) < 2:
        return None
    try:
        return _stack(units, [groups[unit] for unit in units])
    except SymbolError:  # an expression is too long
        return None


def _is_product(unit: SymExpr) -> bool:
    """Check whether a unit is a sum of products of symbols with positive factors."""
    terms = terms_of(unit)
    return all(factor > 0 for factor in terms.values()) and all(
        atom.kind == "variable" for monomial in terms for atom in monomial
    )


def _rank(unit: SymExpr, group: SizeGroup) -> tuple[bool, int]:
    """Return the sort key of a unit: cache line alignment first, then large tensors."""
    largest = max(group.rooms.values())
    return largest % ALIGNMENT != 0, -largest * _evaluate(unit, _SAMPLES[-1])


def _stack(units: Sequence[SymExpr], groups: Sequence[SizeGroup]) -> Stack | None:
    apart = tuple(group.arrange()[1] for group in groups)
    weights = [tuple(_evaluate(unit, sample) for unit in units) for sample in _SAMPLES]
    for others in _exclusions(groups, apart):
        kept = [group.without(others) for group in groups]
        others_ends = tuple(group.without(own.rooms).arrange()[1] for group, own in zip(groups, kept, strict=True))
        rooms, counts = _count_units([group.rooms for group in kept]), _count_units([group.counts for group in kept])
        places = _place_in_turn(_sort_by_unit(rooms, weights[1]), rooms, weights[1])
        ends = _largest(tuple(map(add, place, counts[buffer])) for buffer, place in places.items())
        sums = [tuple(map(add, end, others_ends)) for end in ends]
        # The shared region must never be larger than separate regions.
        if sums and all(all(map(le, each, apart)) for each in sums) and _is_worth_it(sums, apart, weights):
            offsets = {place: _size(place, units) for place in set(places.values())}
            return Stack(
                {buffer: offsets[place] for buffer, place in places.items()},
                extremum("max", [_size(end, units) for end in ends]),
            )
    return None


def _is_worth_it(sums: Sequence[Counts], apart: Counts, weights: Iterable[Counts]) -> bool:
    return any(max(_weigh(counts, weight) for counts in sums) < _WORTH * _weigh(apart, weight) for weight in weights)


def _exclusions(groups: Sequence[SizeGroup], apart: Counts) -> Iterator[set[PlannedBuffer]]:
    """Yield sets of tensors to exclude: first the long-lived ones, then none.

    Long-lived tensors of all units but the first obstruct the others. A whole unit is excluded if most of it is
    long-lived.
    """
    buffers = [buffer for group in groups for buffer in group.rooms]
    half = (max(buffer.last for buffer in buffers) - min(buffer.first for buffer in buffers)) // 2
    planned_buffers: set[PlannedBuffer] = set()
    for group, end in zip(groups[1:], apart[1:], strict=True):
        passing = {room for room in group.rooms if room.last - room.first <= half}
        is_most = 2 * group.without(passing).arrange()[1] > end
        planned_buffers.update(group.rooms if is_most else group.rooms.keys() - passing)
    if planned_buffers:
        yield planned_buffers
    yield set()


def _count_units(groups: Sequence[Mapping[PlannedBuffer, int]]) -> dict[PlannedBuffer, Counts]:
    units: dict[PlannedBuffer, Counts] = {}
    for index, group in enumerate(groups):
        before, behind = (0,) * index, (0,) * (len(groups) - index - 1)
        units |= {buffer: (*before, count, *behind) for buffer, count in group.items()}
    return units


def _sort_by_unit(rooms: Mapping[PlannedBuffer, Counts], weights: Counts) -> list[PlannedBuffer]:
    """Order tensors by unit.

    Within a unit, tensors with large live neighbours of other units come first.

    The lower they are placed, the lower their neighbours can be.
    """
    kinds = {buffer: next(index for index, count in enumerate(room) if count) for buffer, room in rooms.items()}
    timeline = Timeline()
    neighbours = dict.fromkeys(rooms, 0)
    for buffer in rooms:
        for planned_buffer in timeline.alive_with(buffer):
            for one, other in (
                ((planned_buffer, buffer), (buffer, planned_buffer)) if kinds[planned_buffer] != kinds[buffer] else ()
            ):
                neighbours[one] = max(neighbours[one], _weigh(rooms[other], weights))
        timeline.add(buffer)
    return sorted(rooms, key=lambda room: (kinds[room], -neighbours[room], -sum(rooms[room]), room.first))


def _place_in_turn(
    buffers: Sequence[PlannedBuffer], rooms: Mapping[PlannedBuffer, Counts], weights: Counts
) -> dict[PlannedBuffer, Counts]:
    """Place each tensor at the lowest offset, by a sample's symbol values, that certainly overlaps no live tensor."""
    timeline = Timeline()
    spans: dict[PlannedBuffer, tuple[Counts, Counts]] = {}
    order = cache(lambda place: (_weigh(place, weights), place))
    for buffer in buffers:
        room = rooms[buffer]
        taken = {
            spans[planned_buffer]
            for planned_buffer in timeline.alive_with(buffer)
            if not may_meet(planned_buffer, buffer)
        }
        starts = {(0,) * len(room), *(end for _, end in taken)}
        # An offset behind all others is always free.
        starts.add(tuple(map(max, zip(*starts, strict=True))))
        for place in sorted(starts, key=order):
            behind = tuple(map(add, place, room))
            if all(all(map(le, behind, first)) or all(map(le, end, place)) for first, end in taken):
                spans[buffer] = place, behind
                break
        timeline.add(buffer)
    return {buffer: place for buffer, (place, _) in spans.items()}


def _largest(ends: Iterable[Counts]) -> list[Counts]:
    """Return the ends that no other end dominates."""
    counts = sorted(set(ends))
    return [one for one in counts if not any(one != other and all(map(le, one, other)) for other in counts)]


def _evaluate(unit: SymExpr, sample: int) -> int:
    return unit.evaluate(dict.fromkeys(unit.variables, sample))


def _weigh(counts: Counts, weights: Counts) -> int:
    return sum(map(mul, counts, weights))


def _size(counts: Counts, units: Sequence[SymExpr]) -> Size:
    total: Size = 0
    for count, unit in zip(counts, units, strict=True):
        total = total + count * unit
    return total
