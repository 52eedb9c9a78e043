# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of functions that are written elsewhere, by their names: tir.call_extern as func.call and a declaration."""

from __future__ import annotations

from ..bindings.conversion import Decline
from ..bindings.diagnostics import Diagnostic, locate
from ..bindings.ir import Operation, OpView, Type, Value
from ..bindings.mlir import ir, string_value
from ..bindings.navigation import body_of, innermost, operations_of, symbol_name
from ..support.errors import RelaxError
from .numbers import Number, on_each_element, operation


def extern_call(op: OpView) -> list[Value] | Decline:
    """What tir.call_extern and tir.call_pure_extern are: a call of a function that the module declares."""
    called = op.operation
    operands = list(called.operands)
    for value in operands:
        if isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType)):
            return Decline(f"a {value.type} is no C type: pass a pointer (memref.extract_aligned_pointer_as_index)")
    types = [result.type for result in called.results]
    name = string_value(called.attributes["func"])
    _declare(called, name, ir.FunctionType.get([value.type for value in operands], types))
    callee = ir.FlatSymbolRefAttr.get(name)
    call = ir.Operation.create("func.call", results=types, operands=operands, attributes={"callee": callee})
    return list(call.results)


def call_on_floats(function: str, operands: list[Number]) -> Number:
    """A function of floats by its name for f64, which f32's has an f behind; on each element of vectors."""
    name = function + ("f" if operands[0].dtype == "f32" else "")
    called = ir.StringAttr.get(name)
    return on_each_element(lambda *each: operation("tir.call_pure_extern", each, each[0].type, func=called), *operands)


def _declare(operation: Operation, name: str, function_type: Type) -> None:
    body = body_of(innermost(operation, "builtin.module"))
    known = next((item for item in operations_of(body) if symbol_name(item) == name), None)
    if known is None:
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(function_type),
            "sym_visibility": ir.StringAttr.get("private"),
        }
        with ir.InsertionPoint.at_block_begin(body):
            ir.Operation.create("func.func", attributes=attributes, regions=1)
        return
    told = known.attributes
    known_type = told["function_type"].value if "function_type" in told else known.name
    if known_type != function_type:
        message = f"C function '{name}' is called as {function_type}, but '{name}' is {known_type} in this module"
        diagnostic = Diagnostic("error", message, *locate(operation.location))
        raise RelaxError(message, location=diagnostic.place, diagnostics=[diagnostic])
