# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of groups: what can be said of a group but for the calls that it is of, decided once for all that are alike.

Models repeat their layers. A kind is one group as an example, and what was decided about it: whether the groups of two
kinds become one of a third, and whether a kind may have certain outputs. Two calls are of one kind if they call the
same function with the same types; so nothing that decides may look at a call for more than its types and for which
operands are the same value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...bindings.ir import Attribute, Value
from .block_reading import BlockReading
from .fusion_group import (
    FusionGroup,
    Loops,
    goes_on_in_place,
    is_slowed_down,
    joined,
    loops_of,
    outputs_fit,
    read_alike,
    siblings,
    single,
    sizes_are_known,
    with_head,
)
from .prim_infos import PrimInfos


class GroupLimits(NamedTuple):
    """How far groups may grow."""

    max_ops: int
    max_parameters: int
    epilogues: bool
    #: Whether calls that read one tensor in the same loops are fused.
    beside: bool
    #: Whether a call costs more than to read a tensor again, and functions that wait for each other nothing.
    launched: bool = False


@dataclass(eq=False)
class GroupKind:
    """All groups of which one is an example, members and values in the order of `GroupOf`."""

    example: FusionGroup
    #: Which of the values come from elsewhere.
    inputs: tuple[int, ...]
    #: The member that writes all its results, used or not.
    host: int | None
    #: None where calls form no groups with others.
    loops: Loops | None
    #: By the outputs, which of the values they are: why a group cannot have them, or had better not be.
    verdicts: dict[tuple[int, ...], str] = field(default_factory=dict)


class Join(NamedTuple):
    """What groups of producers and of consumers become: the kind, which call of theirs each member is, the producers'
    first, and which values of the consumers are none of the producers'."""

    kind: GroupKind
    members: tuple[int, ...]
    values: tuple[int, ...]


class GroupOf:
    """A group of a kind in a block: the positions of its members, and the values that they read or make."""

    __slots__ = ("calls", "in_order", "inside", "kind", "outputs", "values")

    def __init__(self, kind: GroupKind, calls: tuple[int, ...], in_order: tuple[int, ...], values: tuple[int, ...]):
        self.kind = kind
        self.calls = calls
        self.in_order = in_order
        self.values = values
        #: The calls again, for whoever asks for many.
        self.inside: Container[int] = calls if len(calls) == 1 else frozenset(calls)
        #: The values that are used outside, of a group that has its place.
        self.outputs: Sequence[int] = ()

    def places_of(self, values: Sequence[int]) -> tuple[int, ...]:
        """Which of the group's values these are."""
        own = self.values
        return tuple([own.index(value) for value in values])


class Kinds:
    """Those of one run over a module, and what has been decided about them, with limits or without."""

    def __init__(self, infos: PrimInfos, limits: GroupLimits | None = None):
        self.limits = limits
        self._infos = infos
        #: By the function's name, and types as a reading numbers them.
        self._singles: defaultdict[Attribute, dict[tuple[int, ...], GroupKind | None]] = defaultdict(dict)
        #: Groups of which two kinds become what: by the kinds, which value of the first one each of the second one's
        #: values is, and the order of all members where some of the second one's stand before some of the first one's.
        self._joins: dict[tuple[GroupKind, GroupKind, tuple[int | None, ...], tuple[int, ...]], Join | None] = {}

    def single(self, reading: BlockReading, position: int) -> GroupOf | None:
        """A call alone; None where fusion cannot take part in it."""
        operands, types = reading.operands[position], reading.types
        values = (*operands, *reading.results[position])
        signature = tuple([types[value] for value in values])
        if len(operands) > 1 and len(set(operands)) < len(operands):
            signature = (*signature, *map(values.index, values))
            values = tuple(dict.fromkeys(values))
        kinds = self._singles[reading.plain_calls[position]]
        if signature not in kinds:
            kinds[signature] = self._make_single(reading, position, values)
        kind = kinds[signature]
        return None if kind is None else GroupOf(kind, (position,), (position,), values)

    def _make_single(self, reading: BlockReading, position: int, values: tuple[int, ...]) -> GroupKind | None:
        call = reading.operations[position]
        name = call.opview.func
        info = None if "::" in name else self._infos.called(name, call)
        if info is None:
            return None
        return _kind(single(call, info, position), reading, values)

    def joined(self, producers: GroupOf, consumers: GroupOf, reading: BlockReading) -> GroupOf | None:
        """One group of two. None where one loop nest cannot do the work of both."""
        # Lists and `index`: groups have few values, and a dictionary takes longer to make than to do without.
        made = producers.values
        shared = tuple([made.index(value) if value in made else None for value in consumers.values])
        order: tuple[int, ...] = ()
        if producers.in_order[-1] > consumers.in_order[0]:
            calls = producers.calls + consumers.calls
            order = tuple(sorted(range(len(calls)), key=calls.__getitem__))
        joins, key = self._joins, (producers.kind, consumers.kind, shared, order)
        if key not in joins:
            joins[key] = self._make_join(producers, consumers, shared, reading)
        join = joins[key]
        if join is None:
            return None
        calls = producers.calls + consumers.calls
        in_order = tuple([calls[place] for place in order]) if order else producers.in_order + consumers.in_order
        values = [*made, *[consumers.values[place] for place in join.values]]
        return GroupOf(join.kind, tuple([calls[place] for place in join.members]), in_order, tuple(values))

    def _make_join(
        self, producers: GroupOf, consumers: GroupOf, shared: Sequence[int | None], reading: BlockReading
    ) -> Join | None:
        group = self._one_of(group_in(reading, producers), group_in(reading, consumers))
        if group is None:
            return None
        calls = producers.calls + consumers.calls
        in_group = tuple(member.position for member in group.all_members)
        others = tuple(number for number, place in enumerate(shared) if place is None)
        values = producers.values + tuple(map(consumers.values.__getitem__, others))
        return Join(_kind(group, reading, values), tuple(map(calls.index, in_group)), others)

    def _one_of(self, producers: FusionGroup, consumers: FusionGroup) -> FusionGroup | None:
        targets = {member.info.target for group in (producers, consumers) for member in group.all_members}
        if len(targets) > 1 or producers.head is not None and (consumers.head or consumers.host):
            return None
        if producers.host is not None:
            is_wanted = self.limits is None or self.limits.epilogues
            return with_head(producers, consumers) if is_wanted else None
        return joined(producers, consumers) or self._siblings(producers, consumers)

    def _siblings(self, first: FusionGroup, second: FusionGroup) -> FusionGroup | None:
        """Where kernels are called in no time to speak of, what is saved is reading a tensor again."""
        group = siblings(first, second)
        is_any = self.limits is None or self.limits.launched
        return group if group is None or is_any or read_alike(first, second) else None

    def why_not(self, group: GroupOf, outputs: Sequence[int], reading: BlockReading) -> str:
        """Why a group cannot have these values for outputs, or had better not be; empty where it may."""
        verdicts = group.kind.verdicts
        places = group.places_of(outputs)
        if places not in verdicts:
            written = [reading.values[value] for value in outputs]
            verdicts[places] = self._judge(group_in(reading, group), written)
        return verdicts[places]

    def _judge(self, group: FusionGroup, outputs: list[Value]) -> str:
        if not outputs_fit(group, outputs):
            return "the loops do not come by each element of the outputs once and in one order"
        if not sizes_are_known(group, outputs):
            return "what is left of the parameters does not give all sizes"
        if group.head is not None and not goes_on_in_place(group, outputs):
            return "the second does not go on with the first one's result in its place"
        return "" if self.limits is None else _costs_more(group, outputs, self.limits)


def group_in(reading: BlockReading, group: GroupOf) -> FusionGroup:
    """The group with the calls that it is of."""
    example = group.kind.example
    calls = [(reading.operations[position], position) for position in group.calls]
    is_example = all(member.call is call for member, (call, _) in zip(example.all_members, calls, strict=True))
    return example if is_example else example.of(calls)


def _kind(group: FusionGroup, reading: BlockReading, values: Sequence[int]) -> GroupKind:
    calls = [member.position for member in group.all_members]
    made = {number for position in calls for number in reading.results[position]}
    inputs = tuple(place for place, number in enumerate(values) if number not in made)
    host = None if group.host is None else calls.index(group.host.position)
    return GroupKind(group, inputs, host, loops_of(group))


def _costs_more(group: FusionGroup, outputs: Sequence[Value], limits: GroupLimits) -> str:
    """Why a group should not be, though it can."""
    if len(group.all_members) > limits.max_ops:
        return "there would be too many calls in one kernel"
    if len(group.inputs()) + len(outputs) > limits.max_parameters:
        return "the kernel would have too many parameters"
    if not limits.launched and is_slowed_down(group):
        return "functions like exp would take more time in these loops than storing what they compute"
    return ""
