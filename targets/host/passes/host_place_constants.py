# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large constants in the artifact instead of the code, which reads their addresses from a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Attribute, Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_named, operations_of, symbol_name
from ....bindings.rewriting import replace_op
from ....dialects.core.elements import is_resource
from ....dialects.core.ir_attributes import PLACED_CONSTANTS
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..llvm_ops import address_of, load, memref_at
from ..support import CONSTANT_TABLE, SET_CONSTANTS, Support, table_text
from .host_name_functions import name_in_program


@register_pass
@dataclass(frozen=True)
class PlaceConstants(Pass):
    """Move large constants from the code into the artifact. The code reads their addresses from a table."""

    name: ClassVar[str] = "host-place-constants"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    #: Move small constants too, because a device cannot read the host's code.
    all: bool = False

    def run(self, op: Operation) -> None:
        operations = [operation for operation in operations_of(body_of(op)) if operation.name == "memref.global"]
        large = [
            operation
            for operation in operations
            if (self.all and "initial_value" in operation.attributes) or _is_large(operation)
        ]
        if not large:
            return
        with op.context, op.location:
            Support(op).define(table_text(CONSTANT_TABLE, SET_CONSTANTS, len(large)))
            places = {symbol_name(each): position for position, each in enumerate(large)}
            for use in operations_named(op, "memref.get_global"):
                if (position := places.get(str(use.attributes["name"].value))) is not None:
                    with use.location, ir.InsertionPoint(use):
                        table = address_of(CONSTANT_TABLE)
                        pointer = load(table, 8 * position, table.type)
                        type_ = use.results[0].type
                        memref = memref_at(pointer, type_, list(type_.shape))
                    replace_op(use, [memref])
            op.attributes[PLACED_CONSTANTS] = ir.ArrayAttr.get([_described(each) for each in large])
        for each in large:
            each.erase()


def _is_large(op: Operation) -> bool:
    return "initial_value" in op.attributes and is_resource(op.attributes["initial_value"])


def _described(op: Operation) -> Attribute:
    return ir.DictAttr.get({"name": ir.StringAttr.get(name_in_program(op)), "value": op.attributes["initial_value"]})
