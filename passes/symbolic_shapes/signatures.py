# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Propagation of known sizes into functions, and into calls of functions whose parameters have become known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...bindings.ir import Location, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import (
    blocks_of,
    body_of,
    callee_of,
    function_type_of,
    last_of,
    operations_in,
    operations_of,
    users_of,
)
from ...bindings.rewriting import replace_op
from ...dialects.core.codec import decode, encode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import Info
from ...dialects.core.substitute import dims_of, substitute, substituted_type, with_dims
from ...dialects.core.symbols import Dim, sym
from ..inline.splice import cast
from .equations import names_in
from .function_shapes import FunctionShapes, merge

_CAST = "relax.match_cast"


def specialize(
    function: Operation, shapes: FunctionShapes, functions: Mapping[str, Operation], *, changes_signature: bool
) -> bool:
    """Writes what is known into a function. Whether its signature is another one now.

    A signature that may not change is kept by relax.match_cast: behind each parameter, which checks what was found out
    about it, and before each result. Where it may, numbers go into it; names stay names.
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
    """Gives parameters other types; who uses them gets them as they were, checked by an operation at `place(type)`."""
    block = body_of(function)
    first = operations_of(block)[0]
    for argument, type_ in zip(block.arguments, inputs, strict=True):
        before = argument.type
        # Sizes that were left open are filled in for users too.
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
    """Operations that are no operators get a value of the type that they were made for."""
    if value.type == before:
        return
    for use in list(value.uses):
        user = use.owner.operation
        if row_of(user) is None and user.name not in ("func.call", "func.return"):
            with user.location, ir.InsertionPoint(user):
                user.operands[use.operand_number] = cast(value, before)


def calls_in(function: Operation) -> list[Operation]:
    """The calls of the module's functions."""
    inside = operations_in(function, lambda operation: operation.name == "builtin.module")
    return [operation for operation in inside if operation.name == "func.call"]


def fit_call(call: Operation, signature: Type) -> None:
    """Casts what a call passes and what it gives where its function says otherwise."""
    for index, type_ in enumerate(signature.inputs):
        operand = call.operands[index]
        if operand.type != type_:
            with call.location, ir.InsertionPoint(call):
                call.operands[index] = cast(_seen_through(operand, type_), type_)
    for result, type_ in zip(call.results, signature.results, strict=True):
        before = result.type
        if before == type_:
            continue
        result.set_type(type_)
        for user in users_of(result):
            if user.name == _CAST and user.results[0].type == type_:
                replace_op(user, [result])
        if any(True for _ in result.uses):
            with call.location, ir.InsertionPoint.after(call):
                known = cast(result, before)
            result.replace_all_uses_except(known, known.owner.operation)


def _seen_through(value: Value, type_: Type) -> Value:
    """What was cast to a value, if that has the wanted type already."""
    owner = value.owner
    source = owner.operands[0] if isinstance(owner, ir.OpView) and owner.operation.name == _CAST else value
    return source if source.type == type_ else value


def _cast_results(function: Operation, declared: Sequence[Type], changes_signature: bool) -> list[Type]:
    """Casts what a function returns to what it declares; what it declares in the end."""
    returns = [last for last in map(last_of, blocks_of(function)) if last.name == "func.return"]
    results = list(declared)
    if changes_signature:
        for index in range(len(results)):
            results[index] = _declared(results[index], [operation.operands[index].type for operation in returns])
    for operation in returns:
        for index, type_ in enumerate(results):
            with operation.location, ir.InsertionPoint(operation):
                operation.operands[index] = cast(operation.operands[index], type_)
    return results


def _declared(type_: Type, returned: Sequence[Type]) -> Type:
    """A result's type with the numbers that all returns agree on; names belong to the function's inside."""
    info, agreed = decode(type_), agreed_numbers([decode(each) for each in returned])
    dims = dims_of(info)
    if len(agreed) != len(dims):
        return type_
    known = tuple(own if number is None else number for own, number in zip(dims, agreed, strict=True))
    return encode(with_dims(info, known), type_.context)


def agreed_numbers(infos: Sequence[Info]) -> tuple[int | None, ...]:
    """Of types of one rank the sizes that are the same number in all of them; nothing where ranks differ."""
    dims = [dims_of(info) for info in infos]
    if any(len(each) != len(dims[0]) for each in dims):
        return ()
    return tuple(_number_in(set(sizes)) for sizes in zip(*dims, strict=True))


def _number_in(sizes: set[Dim]) -> int | None:
    """The one number, where there is one and nothing else."""
    size = sizes.pop()
    return size if not sizes and isinstance(size, int) else None


def set_signature(function: Operation, inputs: Sequence[Type], results: Sequence[Type]) -> bool:
    before = function.attributes["function_type"]
    type_ = ir.FunctionType.get(list(inputs), list(results), function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(type_, function.context)
    return function.attributes["function_type"] != before
