# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups that calls state by the attribute relax.group."""

from __future__ import annotations

from collections.abc import Collection

from ....bindings.rewriting import located_error
from .block import BlockGroups, Edge, Found
from .block_reading import BlockReading
from .kinds import Kinds


class StatedGroups(BlockGroups):
    """Groups of a block that attributes state, and no others."""

    def __init__(self, reading: BlockReading, kinds: Kinds):
        super().__init__(reading, kinds)
        self._singles = dict(self._group)

    def find(self) -> list[Found]:
        """Find the stated groups. Raise RelaxError if the calls of a stated group cannot become one."""
        members: dict[int, list[int]] = {}
        edges: dict[int, list[Edge]] = {}
        for position, number in self._reading.stated.items():
            members.setdefault(number, []).append(position)
        for edge in self._edges:
            edges.setdefault(self._reading.stated[edge.consumer], []).append(edge)
        groups = {number: calls for number, calls in members.items() if len(calls) > 1}
        if not all([self._become_one(calls, edges.get(number, [])) for number, calls in groups.items()]):
            # A group may have no position until another one has its own: join all groups step by step.
            self._start_again()
            self._join_until_settled(groups.values())
            for number, calls in groups.items():
                group = self._group.get(calls[0])
                if group is None or len(group.calls) < len(calls):
                    location = self._reading.operations[calls[0]].location
                    raise located_error(f"group {number} cannot become one kernel: {self._why_apart(calls)}", location)
        return self._found()

    def _become_one(self, calls: list[int], edges: list[Edge]) -> bool:
        """Join the calls of a group. Return True if all have become one group."""
        if not all(position in self._group for position in calls):
            return False
        self._join(edges)
        self._join_siblings(calls)
        return len(self._group[calls[0]].calls) == len(calls)

    def _join_until_settled(self, groups: Collection[list[int]]) -> None:
        """Join calls of all groups, round by round. A group may get its place only after its consumers have theirs."""
        before, parts = 0, len(self.groups())
        while parts != before:
            self._join(self._edges)
            for calls in groups:
                self._join_siblings(calls)
            before, parts = parts, len(self.groups())

    def _start_again(self) -> None:
        self._group.update(self._singles)
        self._place[:] = range(len(self._place))
        for edge in self._edges:
            edge.producers, edge.reason = None, ""

    def _why_apart(self, calls: list[int]) -> str:
        for position in calls:
            if position not in self._group:
                call = self._reading.operations[position]
                return f"@{call.opview.func} cannot be analysed, or needs more than one loop nest"
        inside = {self._reading.operations[position] for position in calls}
        for (producer, consumer), reason in self.reasons_apart().items():
            if producer in inside and consumer in inside:
                return f"@{producer.opview.func} and @{consumer.opview.func}: {reason}"
        return "its calls neither read each other's results nor have the same loops"
