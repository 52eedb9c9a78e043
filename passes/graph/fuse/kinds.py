# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of groups: decisions about groups that differ only in their calls, made once.

Models repeat their layers. A kind is one group as an example and the decisions about it: which kind two kinds form
together, and which outputs a kind may have. Two calls are of one kind if they call the same function with the same
types. A decision may therefore depend only on a call's types and on equal operands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....bindings.ir import Attribute, Operation, Value
from ....dialects.script.value_names import location_name
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
    """Limits for the size of groups."""

    max_ops: int
    max_parameters: int
    epilogues: bool
    #: True if calls that read one tensor in the same loops are fused.
    beside: bool
    #: True if a call costs more than a second read of a tensor, and dependent functions cost nothing extra.
    launched: bool = False
    #: PrimFuncs, and nodes of the model, with calls that join no group.
    keep: frozenset[str] = frozenset()


@dataclass(eq=False)
class GroupKind:
    """Kind of groups, with one of them as an example. Members and values are in the order of `GroupOf`."""

    example: FusionGroup
    #: Indices of the values defined outside.
    inputs: tuple[int, ...]
    #: The member that writes all its results, used or not.
    host: int | None
    #: None if calls of this kind join no siblings.
    loops: Loops | None
    #: Reasons why a group cannot or should not have outputs, by the indices of the outputs.
    verdicts: dict[tuple[int, ...], str] = field(default_factory=dict)


class Join(NamedTuple):
    """Result of joining a group of producers and a group of consumers.

    It holds the kind, the call of each member, counted from the producers' calls, and the consumers' values that the
    producers lack.
    """

    kind: GroupKind
    members: tuple[int, ...]
    values: tuple[int, ...]


class GroupOf:
    """A group of a kind in a block: positions of its members, and the values that they read or define."""

    __slots__ = ("calls", "in_order", "inside", "kind", "outputs", "values")

    def __init__(self, kind: GroupKind, calls: tuple[int, ...], in_order: tuple[int, ...], values: tuple[int, ...]):
        self.kind = kind
        self.calls = calls
        self.in_order = in_order
        self.values = values
        #: The calls as a container with fast lookup.
        self.inside: Container[int] = calls if len(calls) == 1 else frozenset(calls)
        #: Values used outside, once the group has a position.
        self.outputs: Sequence[int] = ()

    def places_of(self, values: Sequence[int]) -> tuple[int, ...]:
        """Return the indices of values in the group."""
        own = self.values
        return tuple([own.index(value) for value in values])


class Kinds:
    """Kinds of one run over a module and the decisions about them, with limits or without."""

    def __init__(self, infos: PrimInfos, limits: GroupLimits | None = None):
        self.limits = limits
        self._infos = infos
        #: By function name, and by the type numbers of a reading.
        self._singles: defaultdict[Attribute, dict[tuple[int, ...], GroupKind | None]] = defaultdict(dict)
        #: Joins of two kinds. The key has the index of each value of the second kind in the first one. The order of all
        #: members is part of the key if the two overlap in the block.
        self._joins: dict[tuple[GroupKind, GroupKind, tuple[int | None, ...], tuple[int, ...]], Join | None] = {}

    def is_kept(self, call: Operation) -> bool:
        """Check whether the limits keep a call out of all groups, by its PrimFunc or by its node."""
        keep = self.limits.keep if self.limits is not None else ()
        return bool(keep) and (call.opview.func in keep or location_name(call.location) in keep)

    def single(self, reading: BlockReading, position: int) -> GroupOf | None:
        """Return a group of one call, or None if fusion cannot take part in it."""
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
        return None if info is None else _kind(single(call, info, position), reading, values)

    def joined(self, producers: GroupOf, consumers: GroupOf, reading: BlockReading) -> GroupOf | None:
        """Join two groups. Return None if one loop nest cannot compute both."""
        # Groups have few values: `index` on a tuple is faster than building a dictionary.
        made = producers.values
        shared = tuple([made.index(value) if value in made else None for value in consumers.values])
        order: tuple[int, ...] = ()
        if producers.in_order[-1] > consumers.in_order[0]:
            calls = producers.calls + consumers.calls
            order = tuple(sorted(range(len(calls)), key=calls.__getitem__))
        joins, key = self._joins, (producers.kind, consumers.kind, shared, order)
        if key not in joins:
            joins[key] = self._make_join(producers, consumers, shared, reading)
        if (join := joins[key]) is None:
            return None
        calls = producers.calls + consumers.calls
        in_order = tuple([calls[place] for place in order]) if order else producers.in_order + consumers.in_order
        values = [*made, *[consumers.values[place] for place in join.values]]
        return GroupOf(join.kind, tuple([calls[place] for place in join.members]), in_order, tuple(values))

    def _make_join(
        self, producers: GroupOf, consumers: GroupOf, shared: Sequence[int | None], reading: BlockReading
    ) -> Join | None:
        if (group := self._one_of(group_in(reading, producers), group_in(reading, consumers))) is None:
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
        """Join siblings. Without launch costs, the only gain is to read a shared tensor once."""
        group = siblings(first, second)
        is_any = self.limits is None or self.limits.launched
        return group if group is None or is_any or read_alike(first, second) else None

    def why_not(self, group: GroupOf, outputs: Sequence[int], reading: BlockReading) -> str:
        """Return why a group cannot or should not have these outputs. An empty text means it may."""
        verdicts = group.kind.verdicts
        if (places := group.places_of(outputs)) not in verdicts:
            written = [reading.values[value] for value in outputs]
            verdicts[places] = self._judge(group_in(reading, group), written)
        return verdicts[places]

    def _judge(self, group: FusionGroup, outputs: list[Value]) -> str:
        if not outputs_fit(group, outputs):
            return "the loops do not visit each element of the outputs once and in a common order"
        if not sizes_are_known(group, outputs):
            return "the remaining parameters do not determine all sizes"
        if group.head is not None and not goes_on_in_place(group, outputs):
            return "the consumer cannot update the producer's result in place"
        return "" if self.limits is None else _costs_more(group, outputs, self.limits)


def group_in(reading: BlockReading, group: GroupOf) -> FusionGroup:
    """Return the group with its own calls in place of the example's."""
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
    """Return why a possible group would not pay."""
    if len(group.all_members) > limits.max_ops:
        return "the kernel would have too many calls"
    if len(group.inputs()) + len(outputs) > limits.max_parameters:
        return "the kernel would have too many parameters"
    if not limits.launched and is_slowed_down(group):
        return "functions such as exp would cost more time in these loops than storing their results"
    return ""
