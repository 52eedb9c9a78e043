# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module at a glance: its functions with their arguments and results, a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...bindings.mlir import ir, readable
from ..relax.function_attributes import ARGUMENT_NAME
from .types import type_text

_MOST_LINES = 20


def outline(module: Any) -> str:
    """`module of 2 functions`, and what each takes and gives; what is no function is counted."""
    operations = [op.operation for op in module.regions[0].blocks[0].operations]
    functions = [operation for operation in operations if operation.name == "func.func"]
    others = len(operations) - len(functions)
    head = f"module of {len(functions)} function{'' if len(functions) == 1 else 's'}"
    head += f" and {others} other operation{'' if others == 1 else 's'}" if others else ""
    lines = [f"  {signature(function)}" for function in functions[:_MOST_LINES]]
    if len(functions) > _MOST_LINES:
        lines.append(f"  and {len(functions) - _MOST_LINES} more")
    return "\n".join([head, *lines])


def signature(function: Any) -> str:
    """`main(x: Tensor((n, 8), "float32")) -> Tensor((n, 8), "float32")`, with `private` before it."""
    attributes = function.attributes
    type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    name = readable(lambda: ir.StringAttr(attributes["sym_name"]).value)
    named = zip(_names(function, len(type_.inputs)), _texts(type_.inputs), strict=True)
    inputs = ", ".join(f"{argument}: {text}" for argument, text in named)
    results = list(_texts(type_.results))
    given = results[0] if len(results) == 1 else f"({', '.join(results)})"
    is_private = "sym_visibility" in attributes and str(attributes["sym_visibility"]) == '"private"'
    return f"{'private ' if is_private else ''}{name}({inputs}) -> {given if results else 'None'}"


def _texts(types: Any) -> Iterator[str]:
    return (type_text(type_) for type_ in types)


def _names(function: Any, count: int) -> list[str]:
    names = [f"arg{index}" for index in range(count)]
    if "arg_attrs" in function.attributes:
        for index, given in enumerate(function.attributes["arg_attrs"]):
            if ARGUMENT_NAME in given:
                names[index] = _given_name(given)
    return names


def _given_name(attributes: Any) -> str:
    return readable(lambda: ir.StringAttr(attributes[ARGUMENT_NAME]).value)
