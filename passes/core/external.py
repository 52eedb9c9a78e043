# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External modules, which hold the parts of a model that codegens compile.

Only passes that address them look inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import i64_attribute, ir, string_array, string_value
from ...bindings.navigation import blocks_of, functions_in, operations_of, symbol_name, text_in
from ...dialects.core.elements import elements_bytes, resource_of_bytes
from ...dialects.core.ir_attributes import CODEGEN, EXTERNAL_MODS
from ...support.callbacks import fragile
from ...support.errors import RelaxError
from ...support.external_part import ExternalPart
from ...support.external_runtime import ExternalRuntime
from ...support.registry import NamedRegistry
from ...support.suggest import suggest

#: Codegens by name. The registry is here so that pipelines can check names.
CODEGENS = NamedRegistry[type[ExternalRuntime]]("a codegen", plugins="codegen")


def is_external(operation: Operation) -> bool:
    return operation.name == "builtin.module" and CODEGEN in operation.attributes


def external_modules(module: Operation, codegen: str = "") -> list[Operation]:
    """Return the external modules directly inside a module, of one codegen or of all."""
    operations = [
        operation for block in blocks_of(module) for operation in operations_of(block) if is_external(operation)
    ]
    return [operation for operation in operations if not codegen or text_in(operation, CODEGEN) == codegen]


def check_codegen(name: str, module: Operation) -> None:
    """Raise RelaxError if no codegen of this name is registered or installed, and no part of the module has it."""
    if not external_modules(module, name) and CODEGENS.find(name) is None:
        there = {text_in(external_module, CODEGEN) for external_module in external_modules(module)}
        known = sorted({*CODEGENS.names(), *there})
        listed = f"there are {', '.join(known)}" if known else "there are none"
        raise RelaxError(f"external: unknown codegen '{name}'{suggest(name, known)} ({listed})")


@contextmanager
@fragile
def externals_aside(operation: Operation) -> Iterator[None]:
    """Replace each external module by its functions' declarations inside the `with` statement."""
    operations = external_modules(operation) if operation.name == "builtin.module" else []
    for module in operations:
        _declarations_of(module)
        module.detach_from_parent()
    try:
        yield
    finally:
        if operations:
            _put_back(operation, operations)


def _declarations_of(module: Operation) -> None:
    """Insert a module of the same name that holds the declarations only."""
    context = module.context
    with context, module.location:
        name = {"sym_name": module.attributes["sym_name"], CODEGEN: module.attributes[CODEGEN]}
        stub = ir.Operation.create("builtin.module", attributes=name, regions=1, ip=ir.InsertionPoint(module))
        body = stub.regions[0].blocks.append()
        for function in functions_in(module):
            declared = {key: function.attributes[key] for key in ("sym_name", "function_type")}
            declared["sym_visibility"] = ir.StringAttr.get("nested")
            ir.Operation.create("func.func", attributes=declared, regions=1, ip=ir.InsertionPoint(body))


def _put_back(operation: Operation, operations: list[Operation]) -> None:
    """Put external modules back in place of their declarations. Modules with erased declarations are dropped."""
    stubs = {symbol_name(external_module): external_module for external_module in external_modules(operation)}
    for module in operations:
        if (stub := stubs.get(symbol_name(module))) is not None:
            ir.InsertionPoint(stub).insert(module)
            stub.erase()


# ---- results of codegens, stored on the program's module ----


def external_attribute(part: ExternalPart, objects: Iterable[bytes]) -> Attribute:
    """Return the attribute for a part, with objects to link."""
    fields: dict[str, Attribute] = {
        "codegen": ir.StringAttr.get(part.codegen),
        "name": ir.StringAttr.get(part.name),
        "version": ir.StringAttr.get(part.version),
        "functions": string_array(part.functions),
        "inputs": ir.ArrayAttr.get(list(map(i64_attribute, part.inputs))),
        "nodes": string_array(part.nodes),
        "objects": ir.ArrayAttr.get([_blob(data, f"{part.name}_object") for data in objects]),
    }
    if part.data is not None:
        fields["data"] = _blob(part.data, part.name)
    if part.same_bits:
        fields["same_bits"] = ir.UnitAttr.get()
    return ir.DictAttr.get(fields)


def _blob(data: bytes | memoryview, name: str) -> Attribute:
    return resource_of_bytes(data, ir.RankedTensorType.get([len(data)], ir.IntegerType.get_signless(8)), name)


def taken_externals(module: Operation) -> tuple[tuple[ExternalPart, ...], tuple[memoryview, ...]]:
    """Remove the parts from a module, and return the parts and the objects to link."""
    if EXTERNAL_MODS not in module.attributes:
        return (), ()
    stated = list(module.attributes[EXTERNAL_MODS])
    del module.attributes[EXTERNAL_MODS]
    return tuple(map(_part, stated)), tuple(elements_bytes(blob) for each in stated for blob in each["objects"])


def _part(stated: Attribute) -> ExternalPart:
    codegen, name, version = (string_value(stated[key]) for key in ("codegen", "name", "version"))
    functions, nodes = (tuple(map(string_value, stated[key])) for key in ("functions", "nodes"))
    data = elements_bytes(stated["data"]) if "data" in stated else None
    inputs = tuple(ir.IntegerAttr(each).value for each in stated["inputs"])
    return ExternalPart(codegen, name, version, functions, nodes, data, inputs, "same_bits" in stated)
