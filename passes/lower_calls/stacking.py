# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic arena offsets: one region for tensors whose sizes grow with different symbols, few of them large at once.

Offsets and sizes are sums of multiples of a few products of symbols. One is behind another where that is so of each of
these factors: then it is, whatever the symbols are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import add, le, mul
from typing import TYPE_CHECKING, NamedTuple

from ...dialects.core.symbols import Size, SymbolError
from ...dialects.core.symbols_expr import SymExpr, extremum, terms_of
from ...emit.memrefs import ALIGNMENT
from .arranging import Timeline, arranged, may_meet

if TYPE_CHECKING:
    from .memory_plan import PlannedBuffer

#: The factor of each product.
Counts = tuple[int, ...]
#: What all symbols are where it is compared what a way to place takes.
_SAMPLES = (8, 64, 512)
#: How much less it has to be than regions apart, in one of these.
_WORTH = 0.97


class SizeGroup(NamedTuple):
    """Tensors whose sizes are multiples of one expression: how often it is in each, how often in its room."""

    counts: dict[PlannedBuffer, int]
    rooms: dict[PlannedBuffer, int]

    def without(self, others: Collection[PlannedBuffer]) -> SizeGroup:
        return SizeGroup(*({buffer: count for buffer, count in each.items() if buffer not in others} for each in self))

    def arranged(self) -> tuple[dict[PlannedBuffer, int], int]:
        """The place of each in a region of their own, and where that ends."""
        places, _ = arranged(self.rooms)
        return places, max((place + self.counts[buffer] for buffer, place in places.items()), default=0)


class Stack(NamedTuple):
    """The place of each tensor, and where the last one ends."""

    places: dict[PlannedBuffer, Size]
    end: Size


def stacked(groups: Mapping[SymExpr, SizeGroup]) -> Stack | None:
    """Places for tensors whose sizes are multiples of products, if that takes less than regions apart."""
    units = sorted(filter(_is_product, groups), key=lambda unit: _rank(unit, groups[unit]))
    if len(units) < 2:
        return None
    try:
        return _stack(units, [groups[unit] for unit in units])
    except SymbolError:  # too long an expression
        return None


def _is_product(unit: SymExpr) -> bool:
    """Whether it is symbols multiplied, or a sum of that: no number below 0 is in it."""
    terms = terms_of(unit)
    return all(factor > 0 for factor in terms.values()) and all(
        atom.kind == "variable" for monomial in terms for atom in monomial
    )


def _rank(unit: SymExpr, group: SizeGroup) -> tuple[bool, int]:
    """First what begins where cache lines do, and what is large."""
    largest = max(group.rooms.values())
    return largest % ALIGNMENT != 0, -largest * _at(unit, _SAMPLES[-1])


def _stack(units: Sequence[SymExpr], groups: Sequence[SizeGroup]) -> Stack | None:
    apart = tuple(group.arranged()[1] for group in groups)
    weights = [tuple(_at(unit, sample) for unit in units) for sample in _SAMPLES]
    for others in _left_out(groups, apart):
        kept = [group.without(others) for group in groups]
        others_ends = tuple(group.without(own.rooms).arranged()[1] for group, own in zip(groups, kept, strict=True))
        rooms, counts = _counted([group.rooms for group in kept]), _counted([group.counts for group in kept])
        places = _in_turn(_in_order(rooms, weights[1]), rooms, weights[1])
        ends = _largest(tuple(map(add, place, counts[buffer])) for buffer, place in places.items())
        sums = [tuple(map(add, end, others_ends)) for end in ends]
        # Nowhere more than apart.
        if sums and all(all(map(le, each, apart)) for each in sums) and _is_worth_it(sums, apart, weights):
            offsets = {place: _size(place, units) for place in set(places.values())}
            return Stack(
                {buffer: offsets[place] for buffer, place in places.items()},
                extremum("max", [_size(end, units) for end in ends]),
            )
    return None


def _is_worth_it(sums: Sequence[Counts], apart: Counts, weights: Iterable[Counts]) -> bool:
    return any(max(_weigh(each, weight) for each in sums) < _WORTH * _weigh(apart, weight) for weight in weights)


def _left_out(groups: Sequence[SizeGroup], apart: Counts) -> Iterator[set[PlannedBuffer]]:
    """Of all kinds but the first what lives long, which would be in everybody's way between others, and with it the
    whole kind where that is most of it; then nothing."""
    buffers = [buffer for group in groups for buffer in group.rooms]
    half = (max(each.last for each in buffers) - min(each.first for each in buffers)) // 2
    found: set[PlannedBuffer] = set()
    for group, end in zip(groups[1:], apart[1:], strict=True):
        passing = {each for each in group.rooms if each.last - each.first <= half}
        is_most = 2 * group.without(passing).arranged()[1] > end
        found.update(group.rooms if is_most else group.rooms.keys() - passing)
    if found:
        yield found
    yield set()


def _counted(groups: Sequence[Mapping[PlannedBuffer, int]]) -> dict[PlannedBuffer, Counts]:
    found: dict[PlannedBuffer, Counts] = {}
    for index, group in enumerate(groups):
        before, behind = (0,) * index, (0,) * (len(groups) - index - 1)
        found |= {buffer: (*before, count, *behind) for buffer, count in group.items()}
    return found


def _in_order(rooms: Mapping[PlannedBuffer, Counts], weights: Counts) -> list[PlannedBuffer]:
    """One kind after the other, of each first those at whose side there are large ones of other kinds: the lower they
    are, the lower are the others."""
    kinds = {buffer: next(index for index, count in enumerate(room) if count) for buffer, room in rooms.items()}
    timeline = Timeline()
    neighbours = dict.fromkeys(rooms, 0)
    for buffer in rooms:
        for each in timeline.alive_with(buffer):
            for one, other in ((each, buffer), (buffer, each)) if kinds[each] != kinds[buffer] else ():
                neighbours[one] = max(neighbours[one], _weigh(rooms[other], weights))
        timeline.add(buffer)
    return sorted(rooms, key=lambda each: (kinds[each], -neighbours[each], -sum(rooms[each]), each.first))


def _in_turn(
    buffers: Sequence[PlannedBuffer], rooms: Mapping[PlannedBuffer, Counts], weights: Counts
) -> dict[PlannedBuffer, Counts]:
    """Each at the lowest place, where the symbols are as in a sample, that surely nothing that is alive with it has."""
    timeline = Timeline()
    spans: dict[PlannedBuffer, tuple[Counts, Counts]] = {}
    order = cache(lambda place: (_weigh(place, weights), place))
    for buffer in buffers:
        room = rooms[buffer]
        taken = {spans[each] for each in timeline.alive_with(buffer) if not may_meet(each, buffer)}
        starts = {(0,) * len(room), *(end for _, end in taken)}
        # Behind all of them there is room.
        starts.add(tuple(map(max, zip(*starts, strict=True))))
        for place in sorted(starts, key=order):
            behind = tuple(map(add, place, room))
            if all(all(map(le, behind, first)) or all(map(le, end, place)) for first, end in taken):
                spans[buffer] = place, behind
                break
        timeline.add(buffer)
    return {buffer: place for buffer, (place, _) in spans.items()}


def _largest(ends: Iterable[Counts]) -> list[Counts]:
    """Without those that others are behind."""
    each = sorted(set(ends))
    return [one for one in each if not any(one != other and all(map(le, one, other)) for other in each)]


def _at(unit: SymExpr, sample: int) -> int:
    return unit.evaluate(dict.fromkeys(unit.variables, sample))


def _weigh(counts: Counts, weights: Counts) -> int:
    return sum(map(mul, counts, weights))


def _size(counts: Counts, units: Sequence[SymExpr]) -> Size:
    total: Size = 0
    for count, unit in zip(counts, units, strict=True):
        total = total + count * unit
    return total
