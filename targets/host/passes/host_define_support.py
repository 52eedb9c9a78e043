# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definition of the library functions in a module, which makes the module self-contained."""

from __future__ import annotations

from typing import ClassVar

from ....bindings.context import load_dialects
from ....bindings.ir import Module, Operation
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import body_of, functions_in, has_body, operations_of, symbol_name
from ....bindings.pass_manager import run_upstream
from ....dialects.context import load_registered
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..abi import EXPORT_PREFIX
from ..llvm_ops import HIDDEN, INTERNAL, LINKAGE
from ..support import named_in
from ..units import declared_in, needed_units
from .host_lower_errors import LowerErrors

_TO_LLVM = [
    "convert-scf-to-cf", "convert-arith-to-llvm", "convert-func-to-llvm", "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
]  # fmt: skip
_VISIBILITY = "sym_visibility"


def parsed_unit(text: bytes | str, is_shared: bool = True) -> Module:
    """Parse a unit and lower it to the LLVM dialect.

    Private functions are internal. Public functions are visible to the other units of a program if the unit is shared.
    """
    load_registered(ir.Context.current)
    load_dialects(ir.Context.current, LowerErrors.dependent_dialects)
    module = ir.Module.parse(text)
    operation = module.operation
    if not (functions := list(functions_in(operation))):
        _set_linkage(module, is_shared)
        return module
    for function in functions:
        is_own = _VISIBILITY in function.attributes or not is_shared
        if is_own and has_body(function):
            function.attributes[LINKAGE] = ir.Attribute.parse(INTERNAL)
        elif not is_own and not symbol_name(function).startswith(EXPORT_PREFIX):
            function.attributes["llvm.visibility_"] = i64_attribute(HIDDEN)
    # Not verified in between: calls of the LLVM dialect name functions that the module does not contain yet.
    LowerErrors().run(operation)
    run_upstream(operation, _TO_LLVM, verify=False)
    for op in operations_of(module.body):
        if _VISIBILITY in op.attributes:
            del op.attributes[_VISIBILITY]
    return module


def _set_linkage(module: Module, is_shared: bool) -> None:
    """Make the hidden functions of a unit of host functions internal unless the unit is shared."""
    for op in operations_of(module.body) if not is_shared else ():
        if op.name == "llvm.func" and has_body(op) and op.attributes.get("visibility_") == i64_attribute(HIDDEN):
            op.attributes["linkage"] = ir.Attribute.parse(INTERNAL)
            op.attributes["visibility_"] = i64_attribute(0)


def define_support(operation: Operation) -> None:
    """Replace a module's declarations of library functions by definitions, which makes the module self-contained."""
    units = needed_units(operation)
    for each in declared_in(operation):
        each.erase()
    with operation.context, ir.Location.unknown():
        for needed in units:
            known, unit = named_in(operation), parsed_unit(needed.text, is_shared=False)
            for op in operations_of(unit.body):
                if symbol_name(op) not in known:
                    op.detach_from_parent()
                    body_of(operation).append(op)


@register_pass
class DefineSupport(Pass):
    """Define the library functions in a module, which makes the module self-contained.

    Programs do not need this pass: they link the library as an object that is compiled once.
    """

    name: ClassVar[str] = "host-define-support"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)

    def run(self, op: Operation) -> None:
        define_support(op)
