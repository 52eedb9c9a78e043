# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that call a program: native code checks their arguments and returns their results."""

from __future__ import annotations

from relax_mlir import ShapeInfo, ir
from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.mlir import string_value
from relax_mlir.bindings.navigation import functions_in, is_private, symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.ir_attributes import (
    GRAPH_INPUTS,
    GRAPH_RESULTS,
    INPUT_NAMES,
    MEMORY_PLAN,
    RESULT_MAKERS,
    WRITTEN,
)
from relax_mlir.dialects.relax.function_attributes import function_attributes
from relax_mlir.rewriting import Operation

#: Attributes of a lowered function that its calling function gets anew.
_REPLACED = frozenset(
    {"sym_name", "function_type", "arg_attrs", GRAPH_INPUTS, GRAPH_RESULTS, INPUT_NAMES, MEMORY_PLAN, RESULT_MAKERS}
)
#: Function that tvm-ffi registers: returns an element of a list.
_ITEM = "ffi.ArrayGetItem"
_PURE = "relax.call_pure_packed"


def entry_calls(module: Operation, part: str) -> list[Operation]:
    """Create, for each public function, a function of a graph that calls the packed function `part.name`."""
    functions = [
        function
        for function in functions_in(module)
        if GRAPH_INPUTS in function.attributes and not is_private(function)
    ]
    return [_call(function, f"{part}.{symbol_name(function)}") for function in functions]


def _call(function: Operation, name: str) -> Operation:
    attributes = function.attributes
    inputs, results = ([each.value for each in attributes[key]] for key in (GRAPH_INPUTS, GRAPH_RESULTS))
    names = [string_value(each) for each in attributes[INPUT_NAMES]]
    kept = {key: attributes[key] for key in attributes if key not in _REPLACED}
    with function.location, ir.InsertionPoint(function):
        given = {**kept, **function_attributes(symbol_name(function), inputs, list(map(_choose_type, results)), names)}
        made = ir.Operation.create("func.func", attributes=given, regions=1)
        body = made.regions[0].blocks.append(*inputs)
        with ir.InsertionPoint(body):
            packed = "relax.call_packed" if WRITTEN in attributes else _PURE
            listed = _create_call(name, list(body.arguments), ir.Type.parse("!relax.object"), packed)
            items = [_item(listed, place, _choose_type(type_)) for place, type_ in enumerate(results)]
            ir.Operation.create("func.return", operands=items)
    return made


def _item(listed: ir.Value, place: int, type_: Type) -> ir.Value:
    index = ir.IntegerType.get_signless(64)
    number = ir.Operation.create("arith.constant", [index], attributes={"value": ir.IntegerAttr.get(index, place)})
    return _create_call(_ITEM, [listed, number.result], type_)


def _create_call(name: str, operands: list[ir.Value], type_: Type, packed: str = _PURE) -> ir.Value:
    attributes = {"func": ir.StringAttr.get(name)}
    return ir.Operation.create(packed, [type_], operands, attributes).result


def _choose_type(type_: Type) -> Type:
    """Return the result type of a packed function's call: a shape becomes an object."""
    return ir.Type.parse("!relax.object") if isinstance(decode(type_), ShapeInfo) else type_
