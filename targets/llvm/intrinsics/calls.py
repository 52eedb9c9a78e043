# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of C functions, and the intrinsics that are left to the C library: gamma functions, IEEE's remainders."""

from __future__ import annotations

from ....bindings.conversion import Decline
from ....bindings.diagnostics import Diagnostic, locate
from ....bindings.ir import Operation, OpView, Type, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, innermost, operations_of, symbol_name
from ....emit.conversions import to_float
from ....emit.numbers import Number, numbers, on_each_element, operation
from ....passes.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic
from ....support.errors import RelaxError


@register_lower_intrinsic(["tir.call_extern", "tir.call_pure_extern"], "llvm")
def call_extern(op: OpView) -> list[Value] | Decline:
    """A call of a function that the module declares."""
    operation = op.operation
    operands = list(operation.operands)
    for value in operands:
        if isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType)):
            return Decline(f"a {value.type} is no C type: pass a pointer (memref.extract_aligned_pointer_as_index)")
    types = [result.type for result in operation.results]
    name = string_value(operation.attributes["func"])
    _declare(operation, name, ir.FunctionType.get([value.type for value in operands], types))
    callee = ir.FlatSymbolRefAttr.get(name)
    call = ir.Operation.create("func.call", results=types, operands=operands, attributes={"callee": callee})
    return list(call.results)


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
    attributes = known.attributes
    known_type = attributes["function_type"].value if "function_type" in attributes else known.name
    if known_type != function_type:
        message = f"C function '{name}' is called as {function_type}, but '{name}' is {known_type} in this module"
        diagnostic = Diagnostic("error", message, *locate(operation.location))
        raise RelaxError(message, location=diagnostic.place, diagnostics=[diagnostic])


def call_c(function: str, operands: list[Number]) -> Number:
    """A function of C's math.h on floats, on each element of vectors."""
    name = function + ("f" if operands[0].dtype == "f32" else "")
    called = ir.StringAttr.get(name)
    return on_each_element(lambda *each: operation("tir.call_pure_extern", each, each[0].type, func=called), *operands)


@register_legalize_intrinsic(["tir.lgamma", "tir.tgamma"], "llvm", dtypes=("f32", "f64"))
def gamma(op: OpView) -> Number:
    """In f64, as f32's own are less exact."""
    (x,) = numbers(op)
    return to_float(call_c(op.operation.name.removeprefix("tir."), [to_float(x, "f64")]), x.dtype)


@register_legalize_intrinsic("tir.remainder", "llvm", dtypes=("f32", "f64"))
def remainder(op: OpView) -> Number:
    return call_c("remainder", numbers(op))
