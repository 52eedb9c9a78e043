# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbols of a function that is inlined: a name is one size within a function, so names of two must be told apart.

A call's operands have exactly the types of the function's parameters, so a symbol in a parameter means in the caller
what it means in the function. Only names that the body alone knows can clash.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from ...bindings.navigation import function_type_of, made_by, operations_in
from ...dialects.core.codec import decode
from ...dialects.core.infos import ShapeInfo, TensorInfo
from ...dialects.core.substitute import dims_of, symbols_in, symbols_of, symbols_of_operation
from ...dialects.core.symbols import Dim, SymExpr, sym


def fresh_names(callee: Any, taken: set[str]) -> dict[str, SymExpr]:
    """New names for the symbols inside a function that the caller uses for something else."""
    own = symbols_in(callee)
    used = own | taken
    clashing = sorted((own & taken) - _signature_symbols(callee))
    return {name: sym(next(new for i in count(1) if (new := f"{name}_{i}") not in used)) for name in clashing}


def can_be_renamed(callee: Any, names: dict[str, SymExpr]) -> bool:
    """Whether no call in the function has one of these in its types, which another function's signature fixes."""
    if not names:
        return True
    calls = [operation for operation in operations_in(callee) if operation.name == "func.call"]
    return all(symbols_of_operation(call).isdisjoint(names) for call in calls)


def bind_symbols(call: Any, callee: Any) -> dict[str, Dim]:
    """What the caller knows about the sizes that symbols in parameters stand for.

    A match_cast makes an operand fit its parameter; the sizes before it are those that the caller has names for.
    """
    known: dict[str, Dim] = {}
    for operand in call.operands:
        source = seen_through(operand)
        if source.type == operand.type:
            continue
        for size, dim in zip(dims_of(decode(source.type)), dims_of(decode(operand.type)), strict=True):
            is_name = isinstance(dim, SymExpr) and str(dim) in dim.variables
            if is_name and size is not None and size != dim and not isinstance(known.get(str(dim)), int):
                known[str(dim)] = size
    return {name: size for name, size in known.items() if _can_be_bound(callee, name, size)}


def seen_through(value: Any) -> Any:
    """The value before a match_cast that changed no more than what is known about sizes; else the value itself."""
    cast = made_by(value, "relax.match_cast")
    if cast is None:
        return value
    source = cast.operands[0]
    before, after = decode(source.type), decode(value.type)
    same_kind = type(before) is type(after) and isinstance(before, (TensorInfo, ShapeInfo))
    return source if same_kind and len(dims_of(before)) == len(dims_of(after)) else value


def _can_be_bound(callee: Any, name: str, size: Dim) -> bool:
    """Other dialects' operations say sizes by operands too (tensor.empty): a number cannot be put there."""
    for operation in operations_in(callee):
        if name not in symbols_of_operation(operation):
            continue
        dialect = operation.name.partition(".")[0]
        if operation.name == "func.call" or isinstance(size, int) and dialect not in ("relax", "scf", "func"):
            return False
    return True


def _signature_symbols(function: Any) -> set[str]:
    signature = function_type_of(function)
    return {name for type_ in (*signature.inputs, *signature.results) for name in symbols_of(type_)}
