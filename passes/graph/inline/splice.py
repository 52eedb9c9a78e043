# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlining of one call by the body of its function."""

from __future__ import annotations

from itertools import count

from ....bindings.diagnostics import silenced
from ....bindings.ir import Location, Operation, OpView, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    body_of,
    function_type_of,
    last_of,
    made_by,
    operations_in,
    operations_named,
    operations_of,
)
from ....bindings.rewriting import replace_op
from ....dialects.core.codec import decode
from ....dialects.core.infos import ShapeInfo, TensorInfo
from ....dialects.core.substitute import dims_of, substitute, symbols_in, symbols_of, symbols_of_operation
from ....dialects.core.symbols import Dim, SymExpr, sym


def inline_call(call: Operation, callee: Operation, names: set[str]) -> bool:
    """Replace a call by the function's body. Return False if symbol names prevent it.

    `names` are the caller's symbols. The body's symbols are added to them.
    """
    sizes = _fresh_names(callee, names)
    if not _can_be_renamed(callee, sizes):
        return False
    body = _body_for(call, callee, sizes)
    names |= symbols_in(body)
    for inside in operations_in(body):
        inside.location = _locate_at_call(inside.location, call.location)
    with call.location, ir.InsertionPoint(call):
        arguments = [_argument(*pair) for pair in zip(call.operands, body_of(body).arguments, strict=True)]
        is_straight = len(body.regions[0].blocks) == 1 and last_of(body_of(body)).name == "func.return"
        results = (_splice_block if is_straight else _splice_region)(call, body, arguments)
    replace_op(call, results)
    return True


def _body_for(call: Operation, callee: Operation, sizes: dict[str, SymExpr]) -> OpView:
    """Return a copy of the function outside of any module, with the caller's sizes for the function's symbols."""
    if (bound := {**sizes, **_bind_symbols(call, callee)}) != sizes:
        body = callee.clone(ip=False)
        substitute(body, bound)
        if _is_valid(body):
            return body
    body = callee.clone(ip=False)
    if sizes:
        substitute(body, sizes)
    return body


def _is_valid(body: OpView) -> bool:
    """Check whether the body verifies with the bound sizes. It may not if a run-time check would fail."""
    inputs = [argument.type for argument in body_of(body).arguments]
    signature = function_type_of(body)
    returned = operations_named(body, "func.return")
    results = [value.type for value in returned[0].operands] if returned else list(signature.results)
    body.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results, body.context), body.context)
    with silenced(body.context):
        try:
            return bool(body.verify())
        except ir.MLIRError:
            return False


def _argument(value: Value, parameter: Value) -> Value:
    """Return the value for a parameter: the operand, or a match_cast's source if its type or sizes fit."""
    for candidate in (value, _skip_match_cast(value)):
        if candidate.type == parameter.type:
            return candidate
    return cast(_skip_match_cast(value), parameter.type)


def cast(value: Value, type_: Type) -> Value:
    if value.type == type_:
        return value
    return ir.Operation.create("relax.match_cast", results=[type_], operands=[value]).result


def _splice_block(call: Operation, body: OpView, arguments: list[Value]) -> list[Value]:
    """Move the operations of a single block before the call. Return the values of the call's results."""
    block = body_of(body)
    for parameter, value in zip(block.arguments, arguments, strict=True):
        parameter.replace_all_uses_with(value)
    operations = operations_of(block)
    for operation in operations[:-1]:
        operation.move_before(call)
    return [cast(value, type_) for value, type_ in zip(operations[-1].operands, call.results.types, strict=True)]


def _splice_region(call: Operation, body: OpView, arguments: list[Value]) -> list[Value]:
    """Move several blocks into an scf.execute_region, because a call cannot be replaced by blocks."""
    region_op = ir.Operation.create("scf.execute_region", results=call.results.types, regions=1)
    for parameter, value in zip(body_of(body).arguments, arguments, strict=True):
        parameter.replace_all_uses_with(value)
    for index in reversed(range(len(arguments))):
        body_of(body).erase_argument(index)
    for block in list(body.regions[0].blocks):
        block.append_to(region_op.regions[0])
        last = last_of(block)
        if last.name == "func.return":
            with last.location, ir.InsertionPoint(last):
                values = [cast(*pair) for pair in zip(last.operands, call.results.types, strict=True)]
                ir.Operation.create("scf.yield", operands=values)
            last.erase()
    return list(region_op.results)


def _locate_at_call(inside: Location, call: Location) -> Location:
    return call if isinstance(inside, ir.UnknownLoc) else ir.Location.callsite(inside, [call], inside.context)


# ---- symbols ----
# A name denotes one size within a function, so different sizes need different names. A call's operands have exactly the
# parameters' types. A symbol in a parameter therefore has the same meaning in caller and function. Only symbols of the
# body can clash.


def _fresh_names(callee: Operation, taken: set[str]) -> dict[str, SymExpr]:
    """Return new names for the function's inner symbols that clash with the caller's."""
    own = symbols_in(callee)
    used = own | taken
    clashing = sorted((own & taken) - _signature_symbols(callee))
    return {name: sym(next(new for i in count(1) if (new := f"{name}_{i}") not in used)) for name in clashing}


def _can_be_renamed(callee: Operation, names: dict[str, SymExpr]) -> bool:
    """Check that no call in the function has one of these symbols in its types, which its callee's signature fixes."""
    if not names:
        return True
    return all(symbols_of_operation(call).isdisjoint(names) for call in operations_named(callee, "func.call"))


def _bind_symbols(call: Operation, callee: Operation) -> dict[str, Dim]:
    """Return the caller's sizes for symbols in parameters.

    A match_cast makes an operand fit its parameter. Its source has the caller's sizes.
    """
    known: dict[str, Dim] = {}
    for operand in call.operands:
        source = _skip_match_cast(operand)
        if source.type == operand.type:
            continue
        for size, dim in zip(dims_of(decode(source.type)), dims_of(decode(operand.type)), strict=True):
            is_name = isinstance(dim, SymExpr) and str(dim) in dim.variables
            if is_name and size is not None and size != dim and not isinstance(known.get(str(dim)), int):
                known[str(dim)] = size
    return {name: size for name, size in known.items() if _can_be_bound(callee, name, size)}


def _skip_match_cast(value: Value) -> Value:
    """Return the source of a match_cast that changes only sizes, else the value itself."""
    if (cast := made_by(value, "relax.match_cast")) is None:
        return value
    source = cast.operands[0]
    before, after = decode(source.type), decode(value.type)
    same_kind = type(before) is type(after) and isinstance(before, (TensorInfo, ShapeInfo))
    return source if same_kind and len(dims_of(before)) == len(dims_of(after)) else value


def _can_be_bound(callee: Operation, name: str, size: Dim) -> bool:
    """Check whether a symbol can be replaced. Other dialects also state sizes by operands (tensor.empty)."""
    for operation in operations_in(callee):
        if name not in symbols_of_operation(operation):
            continue
        dialect = operation.name.partition(".")[0]
        if operation.name == "func.call" or isinstance(size, int) and dialect not in ("relax", "scf", "func"):
            return False
    return True


def _signature_symbols(function: Operation) -> set[str]:
    signature = function_type_of(function)
    return {name for type_ in (*signature.inputs, *signature.results) for name in symbols_of(type_)}
