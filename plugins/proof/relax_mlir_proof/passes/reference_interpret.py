# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replacement of functions by calls of the interpreter. The program contains the module as bytecode."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, is_private, operations_named, operations_of, symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import ShapeInfo
from relax_mlir.dialects.core.ir_attributes import EXTERNAL_MODS, GROWN
from relax_mlir.dialects.graph_functions import graph_functions
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.external import external_attribute
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.passes.graph.params.signature import state_type
from relax_mlir.support.errors import RefusalError
from relax_mlir.support.external_part import ExternalPart

#: Name and version of the interpreted part, which runtime.py runs.
PART, VERSION = "reference", "1"
#: Function of tvm-ffi that returns an element of a list.
_ITEM = "ffi.ArrayGetItem"


@register_pass
class Interpret(Pass):
    """Replace public functions by calls of the interpreter, and add the module to the program as a part."""

    name: ClassVar[str] = "reference-interpret"
    sees_externals: ClassVar[bool] = True
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func")

    def run(self, op: Operation) -> None:
        if EXTERNAL_MODS in op.attributes:
            raise RefusalError("parts compiled by codegens cannot be interpreted: remove partition=")
        functions = [graph_function for graph_function in graph_functions(op) if not is_private(graph_function)]
        if any(GROWN in each.attributes for each in functions):
            raise RefusalError("arguments that grow in place require compiled code: remove donate=")
        stream = io.BytesIO()
        op.write_bytecode(stream)
        writes = bool(operations_named(op, "relax.call_packed"))
        for function in functions:
            _call_interpreter(function, "relax.call_packed" if writes else "relax.call_pure_packed")
        for operation in operations_of(body_of(op)):
            if operation not in functions:
                operation.erase()
        part = ExternalPart(PART, PART, VERSION, tuple(map(symbol_name, functions)), (), memoryview(stream.getvalue()))
        op.attributes[EXTERNAL_MODS] = ir.ArrayAttr.get([external_attribute(part, ())], op.context)


def _call_interpreter(function: Operation, call: str) -> None:
    body = body_of(function)
    types = list(map(_choose_type, function.attributes["function_type"].value.results))
    for operation in reversed(list(operations_of(body))):
        operation.erase()
    with function.context, function.location, ir.InsertionPoint(body):
        name = f"{PART}.{symbol_name(function)}"
        listed = _call(call, name, list(body.arguments), ir.Type.parse("!relax.object"))
        ir.Operation.create("func.return", operands=list(_items(listed, types)))
    state_type(function)


def _items(listed: Value, types: list[Type]) -> Iterator[Value]:
    index = ir.IntegerType.get_signless(64)
    for place, type_ in enumerate(types):
        number = ir.Operation.create(
            "arith.constant", results=[index], attributes={"value": ir.IntegerAttr.get(index, place)}
        ).result
        yield _call("relax.call_pure_packed", _ITEM, [listed, number], type_)


def _call(call: str, name: str, operands: list[Value], type_: Type) -> Value:
    made = ir.Operation.create(call, results=[type_], operands=operands, attributes={"func": ir.StringAttr.get(name)})
    return made.result


def _choose_type(type_: Type) -> Type:
    """Return a type that a packed function can return. A shape is an object."""
    return ir.Type.parse("!relax.object", type_.context) if isinstance(decode(type_), ShapeInfo) else type_
