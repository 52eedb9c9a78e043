# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of external functions: tir.call_extern becomes func.call and a declaration."""

from __future__ import annotations

from ..bindings.diagnostics import Diagnostic, locate
from ..bindings.ir import Attribute, Operation, OpView, Type, Value
from ..bindings.mlir import ir, string_value
from ..bindings.navigation import body_of, innermost, operations_of, symbol_name
from ..bindings.rewriting import located_error
from ..dialects.core.infos import bit_width
from ..dialects.core.ir_attributes import C_FUNCTION
from ..support.errors import RelaxError
from .arithmetic import result_of
from .memrefs import root_of
from .numbers import Number, as_i64, as_index, number, on_each_element, operation
from .subviews import strided_metadata


def extern_call(op: OpView) -> list[Value]:
    """Lower tir.call_extern or tir.call_pure_extern to a call of a function that the module declares.

    A buffer is passed as a pointer to its first element, and the strides of all dimensions but the last, in elements,
    as int64_t.
    """
    called = op.operation
    name = string_value(called.attributes["func"])
    if (refused := next(filter(None, map(refused_buffer, called.operands)), None)) is not None:
        raise located_error(f"C function '{name}': {refused}", called.location)
    operands = [each for value in called.operands for each in _as_c(value)]
    types = [result.type for result in called.results]
    library = called.attributes["library"] if "library" in called.attributes else ir.StringAttr.get("")
    _declare(called, name, ir.FunctionType.get([value.type for value in operands], types), library)
    callee = ir.FlatSymbolRefAttr.get(name)
    call = ir.Operation.create("func.call", results=types, operands=operands, attributes={"callee": callee})
    return list(call.results)


def refused_buffer(value: Value) -> str | None:
    """Return the reason why C cannot take a buffer, or None. Scalars have no reason."""
    if isinstance(value.type, ir.UnrankedMemRefType):
        return f"a {value.type} is no C type: its rank is not known"
    if not isinstance(value.type, ir.MemRefType):
        return None
    strides, _ = value.type.get_strides_and_offset()
    if not _element_bytes(value):
        return f"elements of {value.type.element_type} are no bytes"
    if strides and strides[-1] != 1:
        shown = "unknown" if strides[-1] == ir.ShapedType.get_dynamic_stride_or_offset() else strides[-1]
        return (
            f"it is given buffers whose last dimension is contiguous, that of {value.type} has the stride {shown}: "
            "have its part copied before (sch.cache_read)"
        )
    return None


def _as_c(value: Value) -> list[Value]:
    """Return the C arguments for a scalar or a buffer. A size or an index becomes an int64_t, like a number."""
    if isinstance(value.type, ir.IndexType):
        return [as_i64(value)]
    if not isinstance(value.type, ir.MemRefType):
        return [value]
    rank = value.type.rank
    strides = list(strided_metadata(value).results)[2 + rank : 1 + 2 * rank]
    return [address_of(value), *map(as_i64, strides)]


def address_of(memref: Value) -> Value:
    """Return the address of a buffer's first element as a 64-bit number."""
    start = result_of("memref.extract_aligned_pointer_as_index", [memref], ir.IndexType.get())
    offset = as_index(strided_metadata(memref).results[1])
    return as_i64(as_index(start) + offset * _element_bytes(memref))


def offset_in_memory(memref: Value) -> Value:
    """Return the offset in bytes of a buffer's first element in its underlying memory, as a 64-bit number."""
    return as_i64(number(address_of(memref)) - number(address_of(root_of(memref))))


def _element_bytes(memref: Value) -> int:
    """Return the bytes of an element, or 0 for parts of bytes. Truth values take one byte each."""
    element = memref.type.element_type
    is_number = isinstance(element, (ir.FloatType, ir.IntegerType, ir.IndexType))
    bits = bit_width(str(element)) if is_number else 0
    return 1 if bits == 1 else 0 if bits % 8 else bits // 8


def call_on_floats(function: str, operands: list[Number]) -> Number:
    """Call a C function of floats by its f64 name; the f32 name has an f appended.

    Vectors are processed element by element.
    """
    called = ir.StringAttr.get(function + ("f" if operands[0].dtype == "f32" else ""))
    return on_each_element(lambda *each: operation("tir.call_pure_extern", each, each[0].type, func=called), *operands)


def _declare(operation: Operation, name: str, function_type: Type, library: Attribute) -> None:
    body = body_of(innermost(operation, "builtin.module"))
    if (known := next((item for item in operations_of(body) if symbol_name(item) == name), None)) is None:
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(function_type),
            "sym_visibility": ir.StringAttr.get("private"),
            C_FUNCTION: library,
        }
        with ir.InsertionPoint.at_block_begin(body):
            ir.Operation.create("func.func", attributes=attributes, regions=1)
        return
    stated = known.attributes
    known_type = stated["function_type"].value if "function_type" in stated else known.name
    if known_type != function_type:
        message = f"C function '{name}' is called as {function_type}, but '{name}' is {known_type} in this module"
        diagnostic = Diagnostic("error", message, *locate(operation.location))
        raise RelaxError(message, location=diagnostic.place, diagnostics=[diagnostic])
