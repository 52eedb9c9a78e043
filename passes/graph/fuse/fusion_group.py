# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion group: calls that one loop nest can compute, and the place of each call in it (prologue, epilogue)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ....bindings.affine import compose, identity, inverse, plain_dim, shifted_dim, visits_once
from ....bindings.ir import AffineMap, Operation, Type, Value
from ....dialects.core.codec import decode
from ....dialects.core.facts import OpPattern
from ....dialects.core.infos import TensorInfo, bit_width
from ....dialects.core.symbols import Dim
from ....emit.generic import GenericOp
from .prim_info import PrimInfo

# Bytes of a product's operand with rows that are not adjacent. Time with fusion, relative to a copy, for attention of
# 12 heads: 0.86 with sequence length 32, 0.96 with 128, 1.7 with 384.
_MOST_SCATTERED = 1 << 19

#: Patterns that elementwise loops may continue.
_HEADS = (OpPattern.COMM_REDUCE, OpPattern.OUT_EWISE_FUSABLE)

#: The sizes of the written tensor, and the map from the loops to its elements.
Loops = tuple[tuple[Dim, ...], AffineMap]


@dataclass(frozen=True)
class Member:
    """A call. `place` maps the group's loops to the loops of the operation that is fused."""

    call: Operation
    info: PrimInfo
    #: Position in the block.
    position: int
    place: Any
    #: Place of that operation in a function with several. None if the member is single and its operation undecided.
    generic: int | None

    @property
    def is_pointwise(self) -> bool:
        return self.info.pointwise is not None

    @property
    def result_map(self) -> AffineMap:
        """Return the map from the group's loops to the only result of a pointwise member."""
        return compose(self.info.out_map, self.place)

    def read_maps(self, operand: int) -> list[AffineMap]:
        """Return the maps from the group's loops to an operand."""
        return [compose(map_, self.place) for map_ in self.info.reads[operand].maps]


@dataclass(frozen=True)
class FusionGroup:
    """Members in the order of the block. A member that is not pointwise comes last, and its inputs are computed for it.

    `head` is a group with one result, which this group updates in place in a second loop nest.
    """

    members: tuple[Member, ...]
    #: Size of each loop, or None if unknown.
    sizes: tuple[int | None, ...]
    #: Map from the loops to each output, if all members are pointwise.
    out_map: Any
    head: FusionGroup | None = None

    @cached_property
    def all_members(self) -> tuple[Member, ...]:
        return (*(self.head.all_members if self.head else ()), *self.members)

    @property
    def in_order(self) -> list[Member]:
        """Return all members in the order of the block."""
        return sorted(self.all_members, key=lambda member: member.position)

    @cached_property
    def host(self) -> Member | None:
        """Return the member that is not pointwise, or None."""
        last = self.members[-1]
        return None if last.is_pointwise else last

    @property
    def sink(self) -> Member:
        return self.members[-1]

    def of(self, calls: Sequence[tuple[Operation, int]]) -> FusionGroup:
        """Return a copy of the group for other calls, given with their positions in the order of `all_members`."""
        count = 0 if self.head is None else len(self.head.all_members)
        head = None if self.head is None else self.head.of(calls[:count])
        own = zip(self.members, calls[count:], strict=True)
        members = tuple(replace(member, call=call, position=position) for member, (call, position) in own)
        return replace(self, members=members, head=head)

    @cached_property
    def produced(self) -> dict[Value, Member]:
        return {result: member for member in self.all_members for result in member.call.results}

    def inputs(self) -> list[Value]:
        """Return the operands defined outside of the group, in the order of their first use."""
        own = self.produced
        operands = [operand for member in self.all_members for operand in member.call.operands]
        return list(dict.fromkeys(operand for operand in operands if operand not in own))


def single(call: Operation, info: PrimInfo, position: int) -> FusionGroup:
    if info.pointwise is None:
        return FusionGroup((Member(call, info, position, None, None),), (), None)
    sizes = info.sizes[info.pointwise]
    member = Member(call, info, position, identity(len(sizes)), info.pointwise)
    return FusionGroup((member,), sizes, info.out_map)


def joined(producers: FusionGroup, consumers: FusionGroup) -> FusionGroup | None:
    """Join two groups in the consumers' loops. Return None unless each value is read at one point of the loops."""
    edges = list(_edges(producers, consumers))
    if any(operand not in consumer.info.reads for consumer, operand, _ in edges):
        return None
    if consumers.head is not None and _reads_of(consumers.head, producers):
        return None
    if (consumers_or_none := _make_single_host_group(consumers, edges)) is None:
        return None
    consumers = consumers_or_none
    moves = {move for edge in _edges(producers, consumers) for move in _moves(*edge)}
    if len(moves) != 1:
        return None
    (move,) = moves
    is_cheap = producers.members[0].info.is_cheap and len(producers.members) == 1 or _only_moves(producers)
    if not (visits_once(move, consumers.sizes) or is_cheap):
        return None
    moved = [replace(member, place=compose(member.place, move)) for member in producers.members]
    host = consumers.host
    is_product = host is not None and host.info.pattern != OpPattern.COMM_REDUCE
    if is_product and not _is_read_as_it_lies(moved, consumers, producers):
        return None
    pointwise = [member for member in consumers.members if member.is_pointwise]
    hosts = [member for member in consumers.members if not member.is_pointwise]
    members = (*sorted([*moved, *pointwise], key=lambda member: member.position), *hosts)
    return replace(consumers, members=members, head=producers.head or consumers.head)


def siblings(first: FusionGroup, second: FusionGroup) -> FusionGroup | None:
    """Join two groups that do not read each other in common loops. Return None if their loops differ."""
    if first.host or second.host or first.head or second.head or loops_of(first) != loops_of(second):
        return None
    if _reads_of(first, second) or _reads_of(second, first):
        return None
    members = sorted([*first.members, *second.members], key=lambda member: member.position)
    return replace(second, members=tuple(members))


def loops_of(group: FusionGroup) -> Loops | None:
    """Return the loops and the written elements. None if they are unknown or the group is not elementwise."""
    if group.host or group.head:
        return None
    written = decode(group.sink.call.results[0].type)
    if not isinstance(written, TensorInfo) or written.shape is None or None in written.shape:
        return None
    return written.shape, group.out_map


def read_alike(first: FusionGroup, second: FusionGroup) -> bool:
    """Check whether both groups read the same element of one tensor at each point of their loops."""
    return not _read_at_each_point(first).isdisjoint(_read_at_each_point(second))


def _read_at_each_point(group: FusionGroup) -> set[tuple[Value, AffineMap]]:
    given = group.inputs()
    return {
        (value, map_)
        for member in group.members
        for operand, value in enumerate(member.call.operands)
        if value in given and operand in member.info.reads
        for map_ in member.read_maps(operand)
        if map_.is_permutation
    }


def _edges(producers: FusionGroup, consumers: FusionGroup) -> Iterator[tuple[Member, int, Member]]:
    """Yield each operand of a consumer that a producer computes."""
    members = producers.produced
    for consumer in consumers.members:
        for operand, value in enumerate(consumer.call.operands):
            if value in members:
                yield consumer, operand, members[value]


def _only_moves(group: FusionGroup) -> bool:
    return all(member.info.moved_from is not None for member in group.members)


def _is_read_as_it_lies(moved: Sequence[Member], consumers: FusionGroup, producers: FusionGroup) -> bool:
    """Check whether a product's or convolution's operand is only moved and keeps its contiguous dimension.

    The loops of the host read each element many times, and in vectors. An operand that exceeds the cache is better made
    contiguous.
    """
    if not _only_moves(producers) or not (_are_rows(producers) or _is_little(producers)):
        return False
    source = _innermost(compose(moved[0].info.moved_from, moved[0].place))
    edges = _edges(producers, consumers)
    return all(_innermost(map_) == source for consumer, operand, _ in edges for map_ in consumer.read_maps(operand))


def _is_little(group: FusionGroup) -> bool:
    return all(bytes_of(value.type) <= _MOST_SCATTERED for value in group.produced)


def _are_rows(group: FusionGroup) -> bool:
    """Check whether only whole rows of larger tensors are read, in order. Their distance then stays the same."""
    return all(_moves_rows(member) for member in group.members)


def _moves_rows(member: Member) -> bool:
    source, result = member.call.operands[0].type, member.call.results[0].type
    if not source.rank or not result.rank:
        return False
    is_in_order = member.info.moved_from == member.info.out_map and member.info.moved_from.is_permutation
    is_whole = not result.is_dynamic_dim(result.rank - 1) and source.shape[-1] == result.shape[-1]
    return is_in_order and is_whole


def bytes_of(tensor: Type) -> float:
    return math.prod(tensor.shape) * _bits(tensor) / 8 if tensor.has_static_shape else math.inf


def _innermost(map_: AffineMap) -> int | None:
    """Return the loop along which a tensor is read contiguously, or None."""
    return shifted_dim(map_.results[-1]) if len(map_.results) else None


def _make_single_host_group(group: FusionGroup, edges: list[tuple[Member, int, Member]]) -> FusionGroup | None:
    """Return the group with the loops of the host's operation that reads the computed values."""
    if (host := group.host) is None:
        return group
    places = {consumer.info.reads[operand].generic for consumer, operand, _ in edges if consumer == host}
    places |= {host.generic} if host.generic is not None else set()
    if len(places) > 1:
        return None
    if host.generic is not None or not places:
        return group
    (generic,) = places
    sizes = host.info.sizes[generic]
    host = replace(host, place=identity(len(sizes)), generic=generic)
    return replace(group, members=(*group.members[:-1], host), sizes=sizes)


def _moves(consumer: Member, operand: int, producer: Member) -> Iterator[Any]:
    """Yield the maps from the consumers' loops to the producers', so that elements exist when they are read."""
    if not producer.place.is_permutation:
        yield None
        return
    back = compose(inverse(producer.place), inverse(producer.info.out_map))
    for map_ in consumer.read_maps(operand):
        yield compose(back, map_)


def with_head(head: FusionGroup, tail: FusionGroup) -> FusionGroup | None:
    """Continue the head's only result in place with the tail. Return None if the tail needs more."""
    host = head.host
    if host is None or host.info.pattern not in _HEADS or len(host.call.results) != 1:
        return None
    if tail.host is not None or tail.head is not None or _reads_of(head, tail):
        return None
    return replace(tail, head=head)


def _reads_of(group: FusionGroup, other: FusionGroup) -> bool:
    members = other.produced
    return any(operand in members for member in group.all_members for operand in member.call.operands)


def goes_on_in_place(group: FusionGroup, outputs: list[Value]) -> bool:
    """Check whether the loops read the head's result only at the element that they write.

    Elements of another type are stored elsewhere, or not at all if a plan keeps them in registers.
    """
    assert group.head is not None
    value = group.head.sink.call.results[0]
    if len(outputs) != 1 or decode(outputs[0].type).shape != decode(value.type).shape:  # type: ignore[union-attr]
        return False
    for member in group.members:
        for operand, used in enumerate(member.call.operands):
            if used != value:
                continue
            if operand not in member.info.reads or any(map_ != group.out_map for map_ in member.read_maps(operand)):
                return False
    return True


def is_slowed_down(group: FusionGroup) -> bool:
    """Check whether functions such as exp slow the loops by more than a store of their results costs.

    A function that waits for another one leaves the processor idle, because its window has no room for further points.
    The lanes of a loop are as many as its widest type allows. If an f32 is accumulated as f64, functions on f32 have
    half the lanes.
    """
    return _functions_in_a_row(group) > 1 or _widens(group)


def _functions_in_a_row(group: FusionGroup) -> int:
    depth: dict[object, int] = {}
    for member in group.members:
        before = max((depth.get(operand, 0) for operand in member.call.operands), default=0)
        depth.update((result, before + member.info.is_heavy) for result in member.call.results)
    return max(depth.values())


def _widens(group: FusionGroup) -> bool:
    if group.host is None or group.host.generic is None:
        return False
    generic = group.host.info.generic(group.host.generic)
    widest = max(_bits(result.type) for result in generic.results)
    return any(member.info.is_heavy and _bits(member.call.results[0].type) < widest for member in group.members[:-1])


def _bits(tensor: Type) -> int:
    return bit_width(str(tensor.element_type))


def outputs_fit(group: FusionGroup, outputs: list[Value]) -> bool:
    """Check whether the loops compute each element of each output once, and in the same order for all outputs."""
    members = group.produced
    if group.host is not None:
        return all(members[value] == group.host for value in outputs)
    return all(members[value].is_pointwise and members[value].result_map == group.out_map for value in outputs)


def sizes_are_known(group: FusionGroup, outputs: list[Value]) -> bool:
    """Check whether the remaining parameters determine each loop's size and each size that a body asks for."""
    members = group.produced
    known = sized_dims(group, members)
    if group.host is not None and group.host.generic is not None:
        generic = GenericOp(group.host.info.generic(group.host.generic))
        named = {plain_dim(expression) for map_ in generic.output_maps for expression in map_.results}
        if not set(range(len(group.sizes))) <= known | named | _dims_of_slices(group, members):
            return False
    for member in group.members:
        for parameter, axis in member.info.asked:
            map_ = asked_map(member, parameter, members, outputs)
            if map_ is not None and plain_dim(map_.results[axis]) not in known:
                return False
    return True


def _dims_of_slices(group: FusionGroup, members: dict[Value, Member]) -> set[int | None]:
    """Return the loops along which slices of parameters are read. Slices have sizes that no parameter has."""
    moves = [
        member
        for member in group.members
        if member.info.moved_from is not None and member.call.operands[0] not in members
    ]
    maps = [compose(member.info.moved_from, member.place) for member in moves]
    return {plain_dim(expression) for map_ in maps for expression in map_.results} - {None}


def sized_dims(group: FusionGroup, members: dict[Value, Member]) -> set[int | None]:
    """Return the loops with a size that a parameter has: an output, or an input that is read along them."""
    maps = [map_ for _, map_ in written_by_host(group)] if group.host is not None else [group.out_map]
    for member in group.members:
        for operand, value in enumerate(member.call.operands):
            if value not in members and operand in member.info.reads and member.generic is not None:
                read = member.info.reads[operand]
                maps += member.read_maps(operand) if read.generic == member.generic else []
    return {plain_dim(expression) for map_ in maps for expression in map_.results} - {None}


def written_by_host(group: FusionGroup) -> Iterator[tuple[Value, AffineMap]]:
    """Yield the results of the host's operation with the group's loops, and the maps from the loops to them."""
    if (host := group.host) is None or host.generic is None:
        return
    generic = GenericOp(host.info.generic(host.generic))
    for value, map_ in zip(generic.outputs, generic.output_maps, strict=True):
        parameter = host.info.begun_in(value)
        if parameter is not None and parameter >= host.info.input_count:
            yield host.call.results[parameter - host.info.input_count], compose(map_, host.place)


def asked_map(member: Member, parameter: int, members: dict[Value, Member], outputs: list[Value]) -> Any:
    """Return the map from the loops to a parameter that the fused function lacks, or None if it has the parameter."""
    if parameter < member.info.input_count:
        is_made = member.call.operands[parameter] in members and member.generic is not None
        return member.read_maps(parameter)[0] if is_made and parameter in member.info.reads else None
    value = member.call.results[parameter - member.info.input_count]
    return member.result_map if member.is_pointwise and value not in outputs else None
