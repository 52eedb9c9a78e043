# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which calls of a block belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Block, Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, innermost, operations_of, users_of
from ...dialects.core.aliases import mutated_values, root_of
from ...dialects.core.substitute import symbols_of
from .group import Group, goes_on_in_place, is_slowed_down, joined, outputs_fit, single, sizes_are_told, with_head
from .marks import APART, GROUP
from .prim_info import PrimInfos


class Limits(NamedTuple):
    """How far groups may grow."""

    max_ops: int
    max_parameters: int
    epilogues: bool


class Found(NamedTuple):
    """A group of more than one call, its outputs, and the operation before which its call can stand."""

    group: Group
    outputs: list[Value]
    before: Operation


_NOTHING: Mapping[Operation, int] = {}


class BlockGroups:
    """Groups the calls of one block, consumers with producers, as long as one place can be found for each group.

    With limits, as far as it pays, but for the calls that are in groups already (`without`). Without limits the calls
    are `stated` to be in groups: these and nothing else.
    """

    def __init__(
        self,
        block: Block,
        infos: PrimInfos,
        limits: Limits | None = None,
        *,
        stated: Mapping[Operation, int] = _NOTHING,
        keeps_reasons: bool = False,
    ):
        self._block = block
        self._limits = limits
        self._stated = stated
        self._operations = operations_of(block)
        self._positions = {op: position for position, op in enumerate(self._operations)}
        #: By the position of each member: its group, and where the group's call will stand.
        self._group: dict[int, Group] = {}
        self._place: dict[int, int] = {}
        self._users_of: dict[Any, set[int]] = {}
        #: For the positions of a producer and a consumer why they did not become one group when it was last tried.
        self._reasons: dict[tuple[int, int], str] | None = {} if keeps_reasons else None
        self._symbols = self._symbol_positions()
        # What else reads it must not change its place.
        mutated = mutated_values(self._operations)
        for position, op in enumerate(self._operations):
            is_candidate = _is_plain_call(op) and (op in stated) == (limits is None)
            info = infos[op.opview.func] if is_candidate else None
            if info is None or mutated and not mutated.isdisjoint(map(root_of, (*op.operands, *op.results))):
                continue
            if infos.fits(op, info):
                self._group[position] = single(op, info, position)
                self._place[position] = position

    def find(self) -> list[Found]:
        # First what needs no memory any more afterwards, so that no loop of less use takes it away.
        for more_outputs in (False, True):
            while self._round(more_outputs):
                pass
        found = {id(group): group for group in self._group.values() if len(group.all_members) > 1}
        return [
            Found(group, self._outputs(group), self._operations[self._place[group.sink.position]])
            for group in found.values()
        ]

    def _round(self, more_outputs: bool) -> bool:
        changed = False
        for position in list(self._group):
            for operand in self._operations[position].operands:
                producer = self._position_of(operand)
                if producer in self._group and self._group[producer] is not self._group[position]:
                    reason = self._try(self._group[producer], self._group[position], more_outputs)
                    if self._reasons is not None:
                        self._reasons[producer, position] = reason
                    changed = changed or not reason
        return changed

    def reasons_apart(self) -> dict[tuple[Any, Any], str]:
        """For each two calls that stay apart, the producer and the consumer, why, if reasons are kept."""
        return {
            (self._operations[producer], self._operations[consumer]): reason
            for (producer, consumer), reason in (self._reasons or {}).items()
            if self._group[producer] is not self._group[consumer]
        }

    def why_apart(self, number: int) -> str:
        """Why the calls that are stated to be one group are not."""
        calls = [call for call, stated in self._stated.items() if stated == number]
        for call in calls:
            if self._positions[call] not in self._group:
                return f"what @{call.opview.func} does is not known, or more than one loop nest can do"
        for (producer, consumer), reason in self.reasons_apart().items():
            if producer in calls and consumer in calls:
                return f"@{producer.opview.func} and @{consumer.opview.func}: {reason}"
        return "its calls do not read each other's results"

    def _try(self, producers: Group, consumers: Group, more_outputs: bool) -> str:
        """Makes one group of two, or says why not.

        `more_outputs`: of the producers' results some may be stored nevertheless.
        """
        if self._limits is None and self._number(producers) != self._number(consumers):
            return "they are in groups of their own"
        group = self._joined(producers, consumers)
        if group is None:
            return "one loop nest cannot do the work of both"
        outputs = self._outputs(group)
        if not outputs or not more_outputs and not producers.produced.keys().isdisjoint(outputs):
            return "what the first computes is needed elsewhere too"
        if not outputs_fit(group, outputs):
            return "the loops do not come by each element of the outputs once and in one order"
        if not sizes_are_told(group, outputs):
            return "what is left of the parameters does not tell all sizes"
        if group.head is not None and not goes_on_in_place(group, outputs):
            return "the second does not go on with the first one's result in its place"
        if self._limits is not None and (reason := _costs_more(group, outputs, self._limits)):
            return reason
        place = self._new_place(group, outputs)
        if place is None:
            return "no place in the program is behind all that is read and before all that reads"
        for member in group.all_members:
            self._group[member.position] = group
            self._place[member.position] = place
        return ""

    def _number(self, group: Group) -> int | None:
        return self._stated.get(group.sink.call)

    def _joined(self, producers: Group, consumers: Group) -> Group | None:
        targets = {member.info.target for group in (producers, consumers) for member in group.all_members}
        if len(targets) > 1 or producers.head is not None and (consumers.head or consumers.host):
            return None
        if producers.host is not None:
            is_wanted = self._limits is None or self._limits.epilogues
            return with_head(producers, consumers) if is_wanted else None
        return joined(producers, consumers)

    # ---- places ----

    def _outputs(self, group: Group) -> list[Value]:
        """What is used outside of the group, in the block's order. A host writes all its results, used or not."""
        inside = {member.position for member in group.all_members}
        return [
            value
            for member in group.in_order
            for value in member.call.results
            if member == group.host or any(user not in inside for user in self._users(value))
        ]

    def _new_place(self, group: Group, outputs: list[Value]) -> int | None:
        """A member's position behind all that the group reads, and before all that reads of it."""
        inside = {member.position for member in group.all_members}
        first = max((self._defined_at(value) for value in group.inputs()), default=-1)
        for member in group.all_members:
            names = frozenset().union(*(symbols_of(result.type) for result in member.call.results))
            first = max([first, *(self._symbols.get(name, -1) for name in names)])
        users = [user for value in outputs for user in self._users(value) if user not in inside]
        last = min((self._place.get(user, user) for user in users), default=len(self._operations))
        return max((position for position in inside if first < position < last), default=None)

    def _position_of(self, value: Value) -> int | None:
        owner = value.owner
        return None if isinstance(owner, ir.Block) else self._positions.get(owner.operation)

    def _defined_at(self, value: Value) -> int:
        position = self._position_of(value)
        return -1 if position is None else self._place.get(position, position)

    def _users(self, value: Value) -> set[int]:
        """The positions of what uses a value; nothing is changed before all groups are found."""
        if value not in self._users_of:
            self._users_of[value] = set(map(self._around, users_of(value)))
        return self._users_of[value]

    def _around(self, op: Operation) -> int:
        """The position of the operation of this block that a user is, or is in."""
        while op not in self._positions:
            op = op.parent.operation
        return self._positions[op]

    def _symbol_positions(self) -> dict[str, int]:
        """Where operations of the block define sizes: what mentions those must stand behind."""
        found: dict[str, int] = {}
        for position, op in enumerate(self._operations):
            if op.name == "relax.match_cast" or len(op.regions):
                for result in op.results:
                    for name in sorted(symbols_of(result.type)):
                        found.setdefault(name, position)
        for name in _known_outside(self._block):
            found.pop(name, None)
        return found


def _known_outside(block: Block) -> set[str]:
    """The symbols in the types of the arguments of this block and of the function."""
    function = innermost(block.owner, "func.func")
    arguments = [*block.arguments, *body_of(function).arguments]
    return {name for argument in arguments for name in symbols_of(argument.type)}


def _costs_more(group: Group, outputs: Sequence[Value], limits: Limits) -> str:
    """Why a group should not be, though it can."""
    if len(group.all_members) > limits.max_ops:
        return "there would be too many calls in one kernel"
    if len(group.inputs()) + len(outputs) > limits.max_parameters:
        return "the kernel would have too many parameters"
    if is_slowed_down(group):
        return "functions like exp would take more time in these loops than storing what they compute"
    return ""


_KNOWN_ATTRIBUTES = frozenset({"func", GROUP, APART})


def _is_plain_call(op: Operation) -> bool:
    is_known = op.name == "relax.call_tir" and _KNOWN_ATTRIBUTES.issuperset(op.attributes)
    return is_known and "::" not in op.opview.func
