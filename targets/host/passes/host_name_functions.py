# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Unique names for a module's definitions, which collide neither with the C library nor with later passes."""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, has_body, operations_in_functions, operations_of, symbol_name
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..entry import is_entry

#: Prefix of the renamed symbols of a program.
PREFIX = "__relax_defined."
#: Attributes that refer to symbols, by operation.
_REFERENCES = {
    "func.call": "callee",
    "func.constant": "value",
    "llvm.call": "callee",
    "llvm.mlir.addressof": "global_name",
    "memref.get_global": "name",
}


@register_pass
class NameFunctions(Pass):
    """Give unique names to a module's functions and globals, so that none collides with malloc or exp."""

    name: ClassVar[str] = "host-name-functions"

    def run(self, op: Operation) -> None:
        names = {symbol_name(each): each for each in _defined(op)}
        with op.context:
            for name, defined in names.items():
                defined.attributes["sym_name"] = ir.StringAttr.get(PREFIX + name)
            for inside in operations_in_functions(op):
                _refer(inside, names)


def _defined(module: Operation) -> list[Operation]:
    operations = operations_of(body_of(module))
    return [op for op in operations if _is_defined(op) and not symbol_name(op).startswith(PREFIX) and not is_entry(op)]


def _is_defined(op: Operation) -> bool:
    if op.name == "func.func":
        return has_body(op)
    return op.name == "memref.global" and "initial_value" in op.attributes


def _refer(op: Operation, names: dict[str, Operation]) -> None:
    if (held := _REFERENCES.get(op.name)) is None or held not in op.attributes:
        return
    if (name := str(op.attributes[held].value)) in names:
        op.attributes[held] = ir.FlatSymbolRefAttr.get(PREFIX + name)


def name_in_program(op: Operation) -> str:
    """Return the original name of a function or global."""
    return symbol_name(op).removeprefix(PREFIX)
