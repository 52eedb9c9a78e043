# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definition of the library functions in a module, which makes the module self-contained."""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Module, Operation
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import body_of, has_body, operations_of, symbol_name
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..llvm_ops import HIDDEN, INTERNAL
from ..support import named_in
from ..units import declared_in, needed_units


def parsed_unit(text: bytes | str, is_shared: bool = True) -> Module:
    """Parse a unit's text. Its library functions are internal unless other units of a program may call them."""
    module = ir.Module.parse(text)
    for op in operations_of(module.body) if not is_shared else ():
        if op.name == "llvm.func" and has_body(op) and op.attributes.get("visibility_") == i64_attribute(HIDDEN):
            op.attributes["linkage"] = ir.Attribute.parse(INTERNAL)
            op.attributes["visibility_"] = i64_attribute(0)
    return module


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
