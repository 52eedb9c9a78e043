# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts a function's body where a call stands."""

from __future__ import annotations

from typing import Any

from ...bindings.diagnostics import silenced
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, function_type_of, last_of, operations_in, operations_of
from ...dialects.core.substitute import substitute, symbols_in
from .symbols import bind_symbols, can_be_renamed, fresh_names, seen_through


def inline_call(call: Any, callee: Any, names: set[str]) -> bool:
    """Replaces a call by the function's body. False when the names of symbols do not allow it.

    `names` are the caller's symbols; those of the body are added.
    """
    sizes = fresh_names(callee, names)
    if not can_be_renamed(callee, sizes):
        return False
    body = _body_for(call, callee, sizes)
    names |= symbols_in(body)
    for inside in operations_in(body):
        inside.location = _at_call(inside.location, call.location)
    with call.location, ir.InsertionPoint(call):
        arguments = [_argument(*pair) for pair in zip(call.operands, body_of(body).arguments, strict=True)]
        is_straight = len(body.regions[0].blocks) == 1 and last_of(body_of(body)).name == "func.return"
        results = (_splice_block if is_straight else _splice_region)(call, body, arguments)
        for result, value in zip(call.results, results, strict=True):
            result.replace_all_uses_with(value)
    call.erase()
    return True


def _body_for(call: Any, callee: Any, sizes: dict[str, Any]) -> Any:
    """A copy of the function, outside of any module, with the caller's sizes in place of the function's symbols."""
    bound = {**sizes, **bind_symbols(call, callee)}
    if bound != sizes:
        body = callee.clone(ip=False)
        substitute(body, bound)
        if _is_valid(body):
            return body
    body = callee.clone(ip=False)
    if sizes:
        substitute(body, sizes)
    return body


def _is_valid(body: Any) -> bool:
    """Whether the body holds together with the sizes bound to it; it need not, where a run-time check would fail."""
    inputs = [argument.type for argument in body_of(body).arguments]
    signature = function_type_of(body)
    returned = [operation for operation in operations_in(body) if operation.name == "func.return"]
    results = [value.type for value in returned[0].operands] if returned else list(signature.results)
    body.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results, body.context), body.context)
    with silenced(body.context):
        try:
            return bool(body.verify())
        except ir.MLIRError:
            return False


def _argument(value: Any, parameter: Any) -> Any:
    """The value for a parameter: the operand, or what it was before a match_cast where the body has its sizes."""
    for candidate in (value, seen_through(value)):
        if candidate.type == parameter.type:
            return candidate
    return _cast(seen_through(value), parameter.type)


def _cast(value: Any, type_: Any) -> Any:
    if value.type == type_:
        return value
    return ir.Operation.create("relax.match_cast", results=[type_], operands=[value]).result


def _splice_block(call: Any, body: Any, arguments: list[Any]) -> list[Any]:
    """Moves the only block's operations before the call; returns the values for its results."""
    block = body_of(body)
    for parameter, value in zip(block.arguments, arguments, strict=True):
        parameter.replace_all_uses_with(value)
    operations = operations_of(block)
    for operation in operations[:-1]:
        operation.move_before(call)
    return [_cast(value, type_) for value, type_ in zip(operations[-1].operands, call.results.types, strict=True)]


def _splice_region(call: Any, body: Any, arguments: list[Any]) -> list[Any]:
    """Several blocks cannot stand where the call stands: they go into an scf.execute_region."""
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
                values = [_cast(*pair) for pair in zip(last.operands, call.results.types, strict=True)]
                ir.Operation.create("scf.yield", operands=values)
            last.erase()
    return list(region_op.results)


def _at_call(inside: Any, call: Any) -> Any:
    if isinstance(inside, ir.UnknownLoc):
        return call
    return ir.Location.callsite(inside, [call], inside.context)
