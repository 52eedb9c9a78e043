# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused PrimFuncs, created once per kind of group, and the calls that replace the members.

The journal receives fused calls, calls that stayed apart with the reasons, and the resulting kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ....bindings.ir import Attribute, Location, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of, symbol_name, text_in
from ....dialects.core.call_graph import references_in, references_of, remove_dead
from ....dialects.core.ir_attributes import LOOPS, MAIN_OPERATOR, OP_PATTERN, OPERATOR, TIR_TARGET
from ....dialects.relax.function_attributes import VISIBILITY
from ....dialects.tir.prim_func import make_prim_func, prim_funcs_in
from ...core.facts import FusedFact, KernelFact, NotFusedFact, origins_of
from ...core.journal import Journal
from ...legalize.call import PrimFuncs
from .block import Found
from .block_reading import BlockReading, is_graph
from .compose import group_body
from .fusion_group import FusionGroup
from .kinds import GroupKind, group_in

_CALL = "relax.call_tir"
# Function names appear in symbols, profiles and messages.
_LONGEST_NAME = 60
# Longest text of a kernel in a journal.
_MOST_CHARACTERS = 6000


class _Call(NamedTuple):
    """Common parts of the calls for all groups of one kind with the same outputs."""

    name: str
    attributes: dict[str, Attribute]
    types: list[Type]
    #: Each argument as (member, operand) of its first use.
    arguments: list[tuple[int, int]]


class FusedFunctions:
    """Fused functions that one run of the pass creates, and the functions that lose their callers."""

    def __init__(self, module: Operation):
        self._module = module
        self._made = PrimFuncs(module)
        self._calls: dict[tuple[GroupKind, tuple[int, ...]], _Call] = {}
        self._fused: dict[str, Any] = {}

    def replace(self, found: Found) -> None:
        """Replace the members' calls by one call, inserted before one of the members."""
        calls, outputs, before = found.calls, found.written, found.before
        key = found.group.kind, found.group.places_of(found.outputs)
        if key not in self._calls:
            self._calls[key] = self._call_of(group_in(found.reading, found.group), outputs)
        name, attributes, types, arguments = self._calls[key]
        members = [found.reading.operations[position] for position in found.group.calls]
        given = [members[member].operands[operand] for member, operand in arguments]
        _raise_constants(found)
        location, place = _fused_location(calls), ir.InsertionPoint(before)
        made = ir.Operation.create(_CALL, types, given, attributes, loc=location, ip=place)
        note_fused(Journal.active(), name, calls)
        for value, result in zip(outputs, made.results, strict=True):
            value.replace_all_uses_with(result)
        for call in reversed(calls):
            call.erase()
        found.reading.replaced.update(found.group.calls)

    def _call_of(self, group: FusionGroup, outputs: Sequence[Value]) -> _Call:
        with _fused_location([member.call for member in group.in_order]):
            name = self._made.get(_key(group, outputs), _name(group), lambda name: self._make(name, group, outputs))
            attributes = {"func": ir.FlatSymbolRefAttr.get(name)}
        self._fused.update(
            (member.info.name, member.info.original or member.info.function) for member in group.all_members
        )
        read: dict[Value, tuple[int, int]] = {}
        for place, member in enumerate(group.all_members):
            for operand, value in enumerate(member.call.operands):
                read.setdefault(value, (place, operand))
        return _Call(name, attributes, [value.type for value in outputs], [read[value] for value in group.inputs()])

    def _make(self, name: str, group: FusionGroup, outputs: Sequence[Value]) -> None:
        members = group.all_members
        inputs = [_parameter_type(group, value) for value in group.inputs()]
        results = [_parameter_type(group, value) for value in outputs]
        main = max(members, key=lambda member: member.info.pattern)
        attributes = {
            OPERATOR: ir.StringAttr.get("+".join(member.info.operator for member in group.in_order)),
            MAIN_OPERATOR: ir.StringAttr.get(main.info.main_operator),
            VISIBILITY: ir.StringAttr.get("private"),
        }
        if members[0].info.target:
            attributes[TIR_TARGET] = ir.StringAttr.get(members[0].info.target)
        for known in [member.info.function.attributes for member in members]:
            attributes |= {LOOPS: known[LOOPS]} if LOOPS in known else {}
        body = lambda *parameters: group_body(group, outputs, parameters)  # noqa: E731
        pattern = max(member.info.pattern for member in members)
        with ir.InsertionPoint(body_of(self._module)):
            make_prim_func(name, inputs, results, body, pattern=pattern, attributes=attributes)

    def remove_unused(self, readings: Iterable[BlockReading]) -> None:
        """Erase dead functions, but only functions that legalization created."""
        references = Counter(references_of(self._module))
        for operation in operations_of(body_of(self._module)):
            references.update((references_of if is_graph(operation) else references_in)(operation))
        for reading in readings:
            references.update(reading.references())
        candidates = [function for function in self._fused.values() if OPERATOR in function.attributes]
        remove_dead(self._module, candidates, references)


def _raise_constants(found: Found) -> None:
    """Move constants that the group reads before its call. A constant may be defined later, next to a former member."""
    reading = found.reading
    for number in found.group.kind.inputs:
        position = reading.defined[found.group.values[number]]
        if position > found.place and position in reading.constants:
            constant = reading.operations[position]
            # An earlier group that reads the same constant may have moved it further up.
            if not constant.is_before_in_block(found.before):
                constant.move_before(found.before)


def _name(group: FusionGroup) -> str:
    name = "fused"
    for member in group.in_order:
        part = member.info.operator.removeprefix("@").removeprefix("relax.").replace(".", "_")
        if len(name) + len(part) >= _LONGEST_NAME:
            return f"{name}_more"
        name = f"{name}_{part}"
    return name


def _key(group: FusionGroup, outputs: Sequence[Value]) -> Any:
    """Return a key that is equal for groups with equal functions: callees, operands and outputs."""
    inputs = {value: f"in{index}" for index, value in enumerate(group.inputs())}
    members = group.all_members
    made = {
        result: f"{index}.{place}"
        for index, member in enumerate(members)
        for place, result in enumerate(member.call.results)
    }
    names = {**inputs, **made}
    wiring = tuple(
        (member.info.name, member.info.parameters, *(names[operand] for operand in member.call.operands))
        for member in members
    )
    return wiring, tuple(names[value] for value in outputs), group.head is not None


def _parameter_type(group: FusionGroup, value: Value) -> Type:
    """Return the type of a value in the members' functions."""
    for member in group.all_members:
        values = [*member.call.operands, *member.call.results]
        if value in values:
            return member.info.parameters[values.index(value)]
    raise AssertionError("a value that no member has")


def _fused_location(calls: Sequence[Operation]) -> Location:
    return ir.Location.fused(list(dict.fromkeys(call.location for call in calls)), context=calls[0].context)


# ---- journal entries ----


def note_fused(journal: Journal | None, kernel: str, calls: Sequence[Operation]) -> None:
    """Record that these calls, which still exist, become one call of `kernel`."""
    if journal is None:
        return
    members = [_member(call) for call in calls]
    names = dict.fromkeys(name for member in members for name in member["origins"])
    journal.add(FusedFact(kernel, list(names), members))


def note_not_fused(journal: Journal, reasons: Mapping[tuple[Operation, Operation], str]) -> None:
    """Record for each producer and consumer why they stay two calls."""
    for (producer, consumer), reason in reasons.items():
        journal.add(NotFusedFact(_member(producer), _member(consumer), reason))


def note_kernels(journal: Journal | None, module: Operation) -> None:
    """Record the contents of a module's PrimFuncs."""
    if journal is None:
        return
    for function in prim_funcs_in(module):
        operator, pattern = text_in(function, OPERATOR), text_in(function, OP_PATTERN)
        journal.add(KernelFact(symbol_name(function), operator, pattern, _script(function)))


def _member(call: Operation) -> dict[str, Any]:
    return {"kernel": call.opview.func, "origins": origins_of(call)}


def _script(function: Operation) -> str:
    """Return the function's script, cut to its first lines if it is long."""
    from ....dialects.script.print_script import print_script  # imported here because journals are rare

    text = print_script(function, elide=True).rstrip("\n")
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS].rpartition(chr(10))[0]}\n..."
