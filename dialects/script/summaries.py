# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short descriptions of modules and functions: their inputs and results."""

from __future__ import annotations

from ...bindings.ir import Attribute, OperationBase, Type
from ...bindings.mlir import ir, readable
from ..core.ir_attributes import ARGUMENT_NAME
from .expr import as_tuple
from .types import dim_text, dtype_name, is_scalar, tensor_dims, type_text

#: Maximum number of lines of an outline.
_MOST_LINES = 20


def outline(module: OperationBase) -> str:
    """Return `module of 2 functions`, with the signature of each function and the number of other operations."""
    operations = [op.operation for op in module.regions[0].blocks[0].operations]
    functions = [operation for operation in operations if operation.name == "func.func"]
    others = len(operations) - len(functions)
    head = f"module of {len(functions)} function{'' if len(functions) == 1 else 's'}"
    head += f" and {others} other operation{'' if others == 1 else 's'}" if others else ""
    lines = [f"  {signature(function)}" for function in functions[:_MOST_LINES]]
    if len(functions) > _MOST_LINES:
        lines.append(f"  and {len(functions) - _MOST_LINES} more")
    return "\n".join([head, *lines])


def signature(function: OperationBase) -> str:
    """Return `main(x: Tensor((n, 8), "float32")) -> Tensor((n, 8), "float32")`.

    Private functions have the prefix `private`.
    """
    attributes = function.attributes
    type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    name = _readable(attributes["sym_name"])
    named = zip(_names(function, len(type_.inputs)), map(short_type, type_.inputs), strict=True)
    inputs = ", ".join(f"{argument}: {text}" for argument, text in named)
    results = list(map(short_type, type_.results))
    given = results[0] if len(results) == 1 else f"({', '.join(results)})"
    is_private = "sym_visibility" in attributes and str(attributes["sym_visibility"]) == '"private"'
    return f"{'private ' if is_private else ''}{name}({inputs}) -> {given if results else 'None'}"


def _readable(attribute: Attribute) -> str:
    return readable(lambda: ir.StringAttr(attribute).value)


def _names(function: OperationBase, count: int) -> list[str]:
    names = [f"arg{index}" for index in range(count)]
    if "arg_attrs" in function.attributes:
        for index, given in enumerate(function.attributes["arg_attrs"]):
            if ARGUMENT_NAME in given:
                names[index] = _readable(given[ARGUMENT_NAME])
    return names


def short_type(type_: Type) -> str:
    """Return a short type: `Tensor((n, 8), "float32")`, `int64`."""
    if is_scalar(type_):
        return dtype_name(str(type_))
    if not isinstance(type_, ir.RankedTensorType):
        return type_text(type_).removeprefix("R.").removeprefix("T.")
    sizes = as_tuple([dim_text(dim).strip('"') for dim in tensor_dims(type_)])
    return f'Tensor({sizes}, "{dtype_name(str(type_.element_type))}")'
