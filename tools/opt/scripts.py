# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TVMScript as input and output of relax-opt."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ... import Module
from ...bindings.ir import Context, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in, parent_of
from ...dialects.context import create_context
from ...dialects.script.print_script import print_script
from ...frontends.script.common.source import Source
from ...frontends.script.module import read_script


def read(text: str, name: str, prepare: Callable[[Context], None], *, allow_unregistered: bool) -> Module:
    """Parse a script into a module. `prepare` receives the context first. Raise RelaxError."""
    context = create_context()
    prepare(context)
    context.allow_unregistered_dialects = allow_unregistered
    return Module(read_script(Source(text, name), context=context))


# Attributes that turn operations with symbols into declarations.
_DECLARATIONS = {
    "func.func": ("sym_visibility", '"private"'),
    "memref.global": ("sym_visibility", '"private"'),
    "llvm.func": ("linkage", "#llvm.linkage<external>"),
    "llvm.mlir.global": ("linkage", "#llvm.linkage<external>"),
}
_VALUES = ("initial_value", "value")


def script_of(op: Operation, *, elide: bool) -> str:
    """Return a script that can be read back.

    An operation inside a module gets a module with declarations of its symbols.
    """
    if parent_of(op) is None and op.name == "builtin.module":
        return print_script(op, elide=elide)
    with op.context, ir.Location.unknown():
        if op.name == "builtin.module":
            return print_script(op.clone(), elide=elide)
        alone = ir.Module.create()
        alone.body.append(op.clone())
        for named in _named(op):
            name, text = _DECLARATIONS[named.name]
            attributes = {
                attribute: named.attributes[attribute] for attribute in named.attributes if attribute not in _VALUES
            }
            attributes[name] = ir.Attribute.parse(text)
            alone.body.append(ir.Operation.create(named.name, attributes=attributes, regions=len(named.regions)))
        return print_script(alone.operation, elide=elide)


def _named(op: Operation) -> list[Operation]:
    """Return the functions and globals of an operation's module that the operation refers to."""
    around = parent_of(op)
    if around is None or around.name != "builtin.module":
        return []
    table = ir.SymbolTable(around)
    names = dict.fromkeys(name for inner in operations_in(op) for name in _references(inner))
    operations = [table[name].operation for name in names if name in table]
    return [operation for operation in operations if operation.name in _DECLARATIONS and operation != op]


def _references(op: Operation) -> Iterator[str]:
    for name in op.attributes:
        try:
            attribute = op.attributes[name]
        except TypeError:  # the bindings have no class for complex elements
            continue
        if isinstance(attribute, ir.FlatSymbolRefAttr):
            yield attribute.value
