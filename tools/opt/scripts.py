# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TVMScript as relax-opt's input and output."""

from __future__ import annotations

from collections.abc import Callable

from ... import Module
from ...bindings.ir import Context, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in, parent_of
from ...dialects.context import create_context
from ...dialects.script import print_script
from ...frontends.script.module import read_script
from ...frontends.script.source import Source


def read(text: str, name: str, prepare: Callable[[Context], None], *, allow_unregistered: bool) -> Module:
    """The module in a script. `prepare` gets its context before. Raises RelaxError."""
    context = create_context()
    prepare(context)
    context.allow_unregistered_dialects = allow_unregistered
    return Module(read_script(Source(text, name), context=context))


def script_of(op: Operation, *, elide: bool) -> str:
    """A script that can be read back: what is no module stands in one, with declarations of the functions it calls."""
    if parent_of(op) is None and op.name == "builtin.module":
        return print_script(op, elide=elide)
    with op.context, ir.Location.unknown():
        if op.name == "builtin.module":
            return print_script(op.clone(), elide=elide)
        alone = ir.Module.create()
        alone.body.append(op.clone())
        for callee in _callees(op):
            alone.body.append(_declaration(callee))
        return print_script(alone.operation, elide=elide)


def _callees(op: Operation) -> list[Operation]:
    """The functions beside an operation that something in it names."""
    around = parent_of(op)
    if around is None or around.name != "builtin.module":
        return []
    table = ir.SymbolTable(around)
    names: dict[str, None] = {}
    for inner in operations_in(op):
        for name in inner.attributes:
            attribute = inner.attributes[name]
            if isinstance(attribute, ir.FlatSymbolRefAttr):
                names.setdefault(attribute.value)
    found = [table[name].operation for name in names if name in table]
    return [each for each in found if each.name == "func.func" and each != op]


def _declaration(function: Operation) -> Operation:
    attributes = {name: function.attributes[name] for name in function.attributes}
    attributes["sym_visibility"] = ir.StringAttr.get("private")
    return ir.Operation.create("func.func", attributes=attributes, regions=1)
