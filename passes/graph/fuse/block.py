# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion of a block: the groups of its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from .block_reading import OUTSIDE, BlockReading
from .fusion_group import Loops
from .kinds import GroupOf, Kinds


class Found(NamedTuple):
    """A group of more than one call, the values used outside, and the position of its call.

    The contents stay valid while other groups of the block become calls.
    """

    group: GroupOf
    reading: BlockReading
    outputs: Sequence[int]
    place: int

    @property
    def calls(self) -> list[Operation]:
        """Return the members in the order of the block."""
        return [self.reading.operations[position] for position in self.group.in_order]

    @property
    def before(self) -> Operation:
        return self.reading.operations[self.place]

    @property
    def written(self) -> list[Value]:
        return [self.reading.values[value] for value in self.outputs]


class Edge:
    """A producer and a consumer, with the last pair of groups that could not be joined."""

    __slots__ = ("consumer", "consumers", "producer", "producers", "reason")

    def __init__(self, producer: int, consumer: int):
        self.producer = producer
        self.consumer = consumer
        self.producers: GroupOf | None = None
        self.consumers: GroupOf | None = None
        self.reason = ""


_NEEDED = "the producer's result has other users"
_NO_PLACE = "no position in the program is after all inputs and before all users"


class BlockGroups:
    """Grouping of a block's calls: joins consumers with producers if one position can be found for the group's call.

    With limits, the grouping is chosen by cost, and calls with a stated group are left out. Without limits, only calls
    with a stated group are joined, each with calls of its own group.
    """

    def __init__(self, reading: BlockReading, kinds: Kinds):
        self._kinds = kinds
        self._reading = reading
        #: Per member position: its group, and the position of the group's call.
        self._group: dict[int, GroupOf] = {}
        self._place: list[int] = list(range(len(reading.operations)))
        self._edges: list[Edge] = []
        stated, defined, is_limited = reading.stated, reading.defined, kinds.limits is not None
        for position in reading.plain_calls:
            if (position in stated) == is_limited or reading.has_mutated and reading.is_mutated(position):
                continue
            if kinds.is_kept(reading.operations[position]):
                continue
            # Dead calls block no group and are erased later. A group of one dead call would have no results.
            if is_limited and not any(reading.users[value] for value in reading.results[position]):
                continue
            if (group := kinds.single(reading, position)) is not None:
                for operand in reading.operands[position]:
                    producer = defined[operand]
                    if producer in self._group and stated.get(producer) == stated.get(position):
                        self._edges.append(Edge(producer, position))
                self._group[position] = group

    def find(self) -> list[Found]:
        self._join(self._edges)
        if self._kinds.limits is not None and self._kinds.limits.beside:
            for users in self._reading.users:
                if len(users) > 1:
                    self._join_siblings(users)
        return self._found()

    def group_at(self, position: int) -> GroupOf | None:
        """Return the group of a call, which may contain no other call, or None if the call cannot be fused."""
        return self._group.get(position)

    def groups(self) -> list[GroupOf]:
        return list({id(group): group for group in self._group.values()}.values())

    def outputs_of(self, group: GroupOf) -> Sequence[int]:
        """Return the values of a group that are used outside."""
        return self._outputs(group)[0]

    def _found(self) -> list[Found]:
        groups = [group for group in self.groups() if len(group.calls) > 1]
        return [Found(group, self._reading, group.outputs, self._place[group.calls[0]]) for group in groups]

    def reasons_apart(self) -> dict[tuple[Operation, Operation], str]:
        """Return the reason for each producer and consumer that stay apart."""
        operations = self._reading.operations
        return {
            (operations[edge.producer], operations[edge.consumer]): edge.reason
            for edge in self._edges
            if self._group[edge.producer] is not self._group[edge.consumer]
        }

    def _join(self, edges: Sequence[Edge]) -> None:
        # Join groups without stores first, so that a less useful join does not take their place.
        while self._round(edges, more_outputs=False):
            pass
        for edge in edges:
            if edge.reason == _NEEDED:
                edge.producers = None
        while self._round(edges, more_outputs=True):
            pass

    def _join_siblings(self, positions: Sequence[int]) -> None:
        """Join calls that do not read each other's results, each with the previous call of the same loops."""
        before: dict[Loops, GroupOf] = {}
        for position in positions:
            if (group := self._group.get(position)) is None or group.kind.loops is None:
                continue
            loops, other = group.kind.loops, before.get(group.kind.loops, group)
            if other is not group:
                self._try(other, group, more_outputs=True)
            before[loops] = self._group[position]

    def _round(self, edges: Sequence[Edge], more_outputs: bool) -> bool:
        changed = False
        groups = self._group
        for edge in edges:
            producers, consumers = groups[edge.producer], groups[edge.consumer]
            if producers is consumers or edge.producers is producers and edge.consumers is consumers:
                continue
            edge.reason = self._try(producers, consumers, more_outputs)
            changed = changed or not edge.reason
            # A verdict on two groups is valid until one of them changes. A position depends on all groups.
            if edge.reason != _NO_PLACE:
                edge.producers, edge.consumers = producers, consumers
        return changed

    def _try(self, producers: GroupOf, consumers: GroupOf, more_outputs: bool) -> str:
        """Join two groups, or return the reason for keeping them apart.

        With `more_outputs`, some results of the producers may be stored as well.
        """
        if not more_outputs and self._is_used_elsewhere(producers, consumers):
            return _NEEDED
        if (group := self._kinds.joined(producers, consumers, self._reading)) is None:
            return "one loop nest cannot compute both"
        outputs, last = self._outputs(group)
        if not outputs:
            return _NEEDED
        if reason := self._kinds.why_not(group, outputs, self._reading):
            return reason
        return "" if self._put(group, outputs, last) else _NO_PLACE

    def _put(self, group: GroupOf, outputs: Sequence[int], last: int) -> bool:
        """Assign a position to a group with outputs used from `last` on. Return False if there is none."""
        if (place := self._new_place(group, last)) is None:
            return False
        group.outputs = outputs
        for position in group.calls:
            self._group[position] = group
            self._place[position] = place
        return True

    def _is_used_elsewhere(self, producers: GroupOf, consumers: GroupOf) -> bool:
        """Return True if results of the producers have users other than the consumers."""
        users, results = self._reading.users, self._reading.results
        inside, others = consumers.inside, producers.inside
        for position in producers.calls:
            for value in results[position]:
                for user in users[value]:
                    if user not in inside and user not in others:
                        return True
        return False

    def _outputs(self, group: GroupOf) -> tuple[list[int], int]:
        """Return the values used outside of a group, in block order, and the first position that uses one.

        A host writes all its results, used or not.
        """
        host = None if group.kind.host is None else group.calls[group.kind.host]
        results, all_users, places, inside = self._reading.results, self._reading.users, self._place, group.inside
        outputs, first = [], len(places)
        for position in group.in_order:
            for value in results[position]:
                is_output = position == host
                for user in all_users[value]:
                    if user not in inside:
                        is_output = True
                        if places[user] < first:
                            first = places[user]
                if is_output:
                    outputs.append(value)
        return outputs, first

    def _new_place(self, group: GroupOf, last: int) -> int | None:
        """Return the position of the last member before all users of the group.

        Return None if an input is defined later.
        """
        place = OUTSIDE
        for position in group.in_order:
            if position < last:
                place = position
        reading, places, values = self._reading, self._place, group.values
        for number in group.kind.inputs:
            defined = reading.defined[values[number]]
            if defined != OUTSIDE and places[defined] >= place and defined not in reading.constants:
                return None
        if reading.symbols and max(map(reading.sizes_known_behind, group.calls)) >= place:
            return None
        return None if place == OUTSIDE else place
