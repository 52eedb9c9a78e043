# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External modules, which hold what a codegen takes of a model: only passes that address them see into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import blocks_of, functions_in, operations_of, symbol_name, text_in
from ...dialects.core.ir_attributes import CODEGEN
from ...support.callbacks import fragile
from ...support.errors import RelaxError
from ...support.external_runtime import ExternalRuntime
from ...support.registry import NamedRegistry
from ...support.suggest import suggest

#: `source(name)` imports what registers a codegen of that name, or all that there are for None: targets have some.
codegen_sources: list[Callable[[str | None], object]] = []


def _import_codegens(name: str | None) -> None:
    for source in codegen_sources:
        source(name)


#: The codegens by name: here, where pipelines can ask whether there is one.
CODEGENS = NamedRegistry[type[ExternalRuntime]]("a codegen", source=_import_codegens, plugins="codegen")


def is_external(operation: Operation) -> bool:
    return operation.name == "builtin.module" and CODEGEN in operation.attributes


def external_modules(module: Operation, codegen: str = "") -> list[Operation]:
    """Those directly inside of a module, of one codegen or of all."""
    found = [each for block in blocks_of(module) for each in operations_of(block) if is_external(each)]
    return [each for each in found if not codegen or text_in(each, CODEGEN) == codegen]


def check_codegen(name: str, module: Operation) -> None:
    """Refuses a name that no codegen has: neither one that is registered or installed, nor one with a part here."""
    if not external_modules(module, name) and CODEGENS.find(name) is None:
        there = {text_in(each, CODEGEN) for each in external_modules(module)}
        known = sorted({*CODEGENS.names(), *there})
        listed = f"there are {', '.join(known)}" if known else "there are none"
        raise RelaxError(f"external: unknown codegen '{name}'{suggest(name, known)} ({listed})")


@contextmanager
@fragile
def externals_aside(operation: Operation) -> Iterator[None]:
    """Inside, each external module has but its functions' declarations in it; afterwards it is what it was."""
    held = external_modules(operation) if operation.name == "builtin.module" else []
    for module in held:
        _declarations_of(module)
        module.detach_from_parent()
    try:
        yield
    finally:
        _put_back(operation, held)


def _declarations_of(module: Operation) -> None:
    """A module of the same name stands in front of one."""
    context = module.context
    with context, module.location:
        name = {"sym_name": module.attributes["sym_name"], CODEGEN: module.attributes[CODEGEN]}
        stub = ir.Operation.create("builtin.module", attributes=name, regions=1, ip=ir.InsertionPoint(module))
        body = stub.regions[0].blocks.append()
        for function in functions_in(module):
            declared = {key: function.attributes[key] for key in ("sym_name", "function_type")}
            declared["sym_visibility"] = ir.StringAttr.get("nested")
            ir.Operation.create("func.func", attributes=declared, regions=1, ip=ir.InsertionPoint(body))


def _put_back(operation: Operation, held: list[Operation]) -> None:
    """Modules come to where their declarations are, and stay out where those are gone."""
    stubs = {symbol_name(each): each for each in external_modules(operation)}
    for module in held:
        stub = stubs.get(symbol_name(module))
        if stub is not None:
            ir.InsertionPoint(stub).insert(module)
            stub.erase()
