# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PrimFuncs of groups: made once for groups that are alike, called in place of the members' calls.

And what a journal is told: calls that became one, those that stayed apart and why, the kernels that there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...bindings.ir import Context, Location, Operation, Type, Value
from ...bindings.mlir import as_list, ir
from ...bindings.navigation import body_of, symbol_name, text_in
from ...dialects.relax import dialect as relax
from ...dialects.relax.function_attributes import VISIBILITY
from ...dialects.tir.prim_func import OP_PATTERN, TARGET, make_prim_func, prim_funcs_in
from ..core.facts import FusedFact, KernelFact, NotFusedFact, origins_of
from ..core.journal import Journal
from ..inline.call_graph import remove_dead
from ..legalize.builder import MAIN_OPERATOR, OPERATOR, PrimFuncs
from .compose import group_body
from .group import Group

# Names of functions are in symbols, profiles and messages.
_LONGEST_NAME = 60
# Of a kernel's text in a journal.
_MOST_CHARACTERS = 6000


class FusedFunctions:
    """The functions that one run of the pass makes and leaves without a caller."""

    def __init__(self, module: Operation):
        self._module = module
        self._made = PrimFuncs(module)
        self._fused: dict[str, Any] = {}

    def replace(self, group: Group, outputs: Sequence[Value], before: Operation) -> None:
        """One call in place of the members', before an operation."""
        in_order = group.in_order
        location = _fused_location(in_order, before.context)
        types = [value.type for value in outputs]
        with location, ir.InsertionPoint(before):
            name = self._made.get(_key(group, outputs), _name(group), lambda name: self._make(name, group, outputs))
            made = relax.ops["call_tir"](name, group.inputs(), types)
        note_fused(Journal.active(), name, [member.call for member in in_order])
        for value, result in zip(outputs, as_list(made), strict=True):
            value.replace_all_uses_with(result)
        for member in reversed(in_order):
            member.call.erase()
        self._fused.update((member.info.name, member.info.function) for member in group.all_members)

    def _make(self, name: str, group: Group, outputs: Sequence[Value]) -> None:
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
            attributes[TARGET] = ir.StringAttr.get(members[0].info.target)
        body = lambda *parameters: group_body(group, outputs, parameters)  # noqa: E731
        pattern = max(member.info.pattern for member in members)
        with ir.InsertionPoint(body_of(self._module)):
            make_prim_func(name, inputs, results, body, pattern=pattern, attributes=attributes)

    def remove_unused(self) -> None:
        """Legalization's functions, and only those, go when nobody calls them any more."""
        remove_dead(self._module, [function for function in self._fused.values() if OPERATOR in function.attributes])


def _name(group: Group) -> str:
    name = "fused"
    for member in group.in_order:
        part = member.info.operator.removeprefix("@").removeprefix("relax.").replace(".", "_")
        if len(name) + len(part) >= _LONGEST_NAME:
            return f"{name}_more"
        name = f"{name}_{part}"
    return name


def _key(group: Group, outputs: Sequence[Value]) -> Any:
    """What two groups have in common whose functions are the same: who is called with what, and what is left."""
    inputs = {value: f"in{index}" for index, value in enumerate(group.inputs())}
    members = group.all_members
    made = {
        result: f"{index}.{place}"
        for index, member in enumerate(members)
        for place, result in enumerate(member.call.results)
    }
    names = {**inputs, **made}
    wiring = tuple((member.info.name, *(names[operand] for operand in member.call.operands)) for member in members)
    return wiring, tuple(names[value] for value in outputs), group.head is not None


def _parameter_type(group: Group, value: Value) -> Type:
    """What the members' functions have for a value."""
    for member in group.all_members:
        values = [*member.call.operands, *member.call.results]
        if value in values:
            return member.info.parameters[values.index(value)]
    raise AssertionError("a value that no member has")


def _fused_location(members: Sequence[Any], context: Context) -> Location:
    locations = list(dict.fromkeys(member.call.location for member in members))
    return ir.Location.fused(locations, context=context)


# ---- what a journal is told ----


def note_fused(journal: Journal | None, kernel: str, calls: Sequence[Operation]) -> None:
    """Tells that these calls, which are still there, become one of `kernel`."""
    if journal is None:
        return
    members = [_member(call) for call in calls]
    names = dict.fromkeys(name for member in members for name in member["origins"])
    journal.add(FusedFact(kernel, list(names), members))


def note_not_fused(journal: Journal, reasons: Mapping[tuple[Any, Any], str]) -> None:
    """Tells for each producer and consumer why they stay two calls."""
    for (producer, consumer), reason in reasons.items():
        journal.add(NotFusedFact(_member(producer), _member(consumer), reason))


def note_kernels(journal: Journal | None, module: Operation) -> None:
    """Tells what the PrimFuncs of a module compute."""
    if journal is None:
        return
    for function in prim_funcs_in(module):
        operator, pattern = text_in(function, OPERATOR), text_in(function, OP_PATTERN)
        journal.add(KernelFact(symbol_name(function), operator, pattern, _script(function)))


def _member(call: Operation) -> dict[str, Any]:
    return {"kernel": call.opview.func, "origins": origins_of(call)}


def _script(function: Operation) -> str:
    """The function for people, its first lines where it is long."""
    from ...dialects.script import print_script  # seldom needed

    text = print_script(function, elide=True).rstrip("\n")
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS].rpartition(chr(10))[0]}\n..."
