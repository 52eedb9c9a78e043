# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Propagation of known sizes into functions, and into calls of functions with changed parameter types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....bindings.ir import Location, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import (
    blocks_of,
    body_of,
    callee_of,
    function_type_of,
    last_of,
    operations_in,
    operations_of,
    users_of,
)
from ....bindings.rewriting import replace_op
from ....dialects.core.codec import decode, encode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import Info
from ....dialects.core.substitute import dims_of, substitute, substituted_type, with_dims
from ....dialects.core.symbols import Dim, sym
from ..inline.splice import cast
from .equations import names_in
from .function_shapes import FunctionShapes, merge

_CAST = "relax.match_cast"


def specialize(
    function: Operation, shapes: FunctionShapes, functions: Mapping[str, Operation], *, changes_signature: bool
) -> bool:
    """Write the known sizes into a function. Return True if its signature changes.

    A fixed signature is kept by relax.match_cast: after each parameter, to check the known sizes, and before each
    result. Otherwise the signature receives the known numbers, and symbols stay symbols.
    """
    sizes = {name: shapes.equations.resolve(sym(name)) for name in shapes.equations.answers}
    signature = function_type_of(function)
    refined = {value: shapes.resolved(info) for value, info in shapes.refined.items()}
    substitute(function, sizes)
    numbers = {name: size for name, size in sizes.items() if isinstance(size, int)} if changes_signature else {}
    inputs = [substituted_type(type_, numbers) for type_ in signature.inputs]
    reasons = shapes.equations.answers

    def place(type_: Type) -> Location:
        known = [
            reasons[name].equation.operation.location for name in names_in(dims_of(decode(type_))) if name in reasons
        ]
        return known[0] if known else function.location

    cast_parameters(function, inputs, place)
    for value, info in refined.items():
        before = value.type
        value.set_type(encode(info, function.context))
        _keep_type(value, before)
    for call in calls_in(function):
        fit_call(call, function_type_of(functions[callee_of(call)]))
    results = _cast_results(function, signature.results, changes_signature)
    for operation in operations_in(function):
        if operation.name == _CAST and operation.operands[0].type == operation.results[0].type:
            replace_op(operation, operation.operands)
    return set_signature(function, inputs, results)


def cast_parameters(function: Operation, inputs: Sequence[Type], place: Callable[[Type], Location]) -> None:
    """Change the types of parameters. Users receive the old type, checked by an operation at `place(type)`."""
    block = body_of(function)
    first = operations_of(block)[0]
    for argument, type_ in zip(block.arguments, inputs, strict=True):
        before = argument.type
        # Open sizes are filled in for the users, too.
        inner = encode(merge(decode(before), decode(type_)), type_.context)
        argument.set_type(type_)
        if inner == type_:
            _keep_type(argument, before)
            continue
        with place(type_), ir.InsertionPoint(first):
            checked = cast(argument, inner)
        argument.replace_all_uses_except(checked, checked.owner.operation)
        _keep_type(checked, before)


def _keep_type(value: Value, before: Type) -> None:
    """Cast the value back to its old type for users that are neither operators nor calls nor returns."""
    if value.type == before:
        return
    for use in list(value.uses):
        user = use.owner.operation
        if row_of(user) is None and user.name not in ("func.call", "func.return"):
            with user.location, ir.InsertionPoint(user):
                user.operands[use.operand_number] = cast(value, before)


def calls_in(function: Operation) -> list[Operation]:
    """Return the calls of the module's functions."""
    inside = operations_in(function, lambda operation: operation.name == "builtin.module")
    return [operation for operation in inside if operation.name == "func.call"]


def fit_call(call: Operation, signature: Type) -> None:
    """Cast a call's operands and results to the types of the callee's signature."""
    for index, type_ in enumerate(signature.inputs):
        operand = call.operands[index]
        if operand.type != type_:
            with call.location, ir.InsertionPoint(call):
                call.operands[index] = cast(_skip_cast(operand, type_), type_)
    for result, type_ in zip(call.results, signature.results, strict=True):
        if (before := result.type) == type_:
            continue
        result.set_type(type_)
        for user in users_of(result):
            if user.name == _CAST and user.results[0].type == type_:
                replace_op(user, [result])
        if any(True for _ in result.uses):
            with call.location, ir.InsertionPoint.after(call):
                known = cast(result, before)
            result.replace_all_uses_except(known, known.owner.operation)


def _skip_cast(value: Value, type_: Type) -> Value:
    """Return the source of a cast if it has the wanted type, else the value."""
    owner = value.owner
    source = owner.operands[0] if isinstance(owner, ir.OpView) and owner.operation.name == _CAST else value
    return source if source.type == type_ else value


def _cast_results(function: Operation, declared: Sequence[Type], changes_signature: bool) -> list[Type]:
    """Cast the returned values to the declared result types, and return these types."""
    returns = [last for last in map(last_of, blocks_of(function)) if last.name == "func.return"]
    results = list(declared)
    if changes_signature:
        for index in range(len(results)):
            results[index] = _refine(results[index], [operation.operands[index].type for operation in returns])
    for operation in returns:
        for index, type_ in enumerate(results):
            with operation.location, ir.InsertionPoint(operation):
                operation.operands[index] = cast(operation.operands[index], type_)
    return results


def _refine(type_: Type, returned: Sequence[Type]) -> Type:
    """Refine a result type by the numbers that all returns agree on. Symbols belong to the function's inside."""
    info, agreed = decode(type_), agreed_numbers([decode(each) for each in returned])
    dims = dims_of(info)
    if len(agreed) != len(dims):
        return type_
    known = tuple(own if number is None else number for own, number in zip(dims, agreed, strict=True))
    return encode(with_dims(info, known), type_.context)


def agreed_numbers(infos: Sequence[Info]) -> tuple[int | None, ...]:
    """Return, per dimension, the number that all types of one rank agree on, or None. Empty if the ranks differ."""
    dims = [dims_of(info) for info in infos]
    if any(len(dim) != len(dims[0]) for dim in dims):
        return ()
    return tuple(_number_in(set(sizes)) for sizes in zip(*dims, strict=True))


def _number_in(sizes: set[Dim]) -> int | None:
    """Return the only size if it is a number, else None."""
    size = sizes.pop()
    return size if not sizes and isinstance(size, int) else None


def set_signature(function: Operation, inputs: Sequence[Type], results: Sequence[Type]) -> bool:
    before = function.attributes["function_type"]
    type_ = ir.FunctionType.get(list(inputs), list(results), function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(type_, function.context)
    return function.attributes["function_type"] != before
