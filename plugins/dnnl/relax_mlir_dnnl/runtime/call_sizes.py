# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes at call time: symbols that the shapes of arguments determine, and expressions over symbols."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping, Sequence

from relax_mlir import RelaxError

from .description import Size, Value

_OPERATORS: Mapping[type, Callable[..., int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
}
_FUNCTIONS: Mapping[str, Callable[..., int]] = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}


def size(dim: Size, symbols: Mapping[str, int]) -> int:
    return dim if isinstance(dim, int) else _value(_tree(dim), symbols)


def bind(values: Sequence[Value], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return the symbols that are sizes of arguments. Raise RelaxError if a shape is not the expected one."""
    symbols: dict[str, int] = {}
    for value, shape in zip(values, shapes, strict=True):
        for dim, actual in zip(value.dims, shape, strict=True):
            if isinstance(dim, str) and dim.isidentifier():
                symbols.setdefault(dim, actual)
    for number, (value, shape) in enumerate(zip(values, shapes, strict=True)):
        if (expected := tuple(size(dim, symbols) for dim in value.dims)) != tuple(shape):
            raise RelaxError(f"argument {number} has shape {tuple(shape)}, expected {expected}")
    return symbols


@functools.lru_cache(maxsize=1024)
def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(node: ast.expr, symbols: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id in symbols:
        return symbols[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, symbols), _value(node.right, symbols))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.operand, symbols))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](*(_value(arg, symbols) for arg in node.args))
    raise RelaxError(f"the size '{ast.unparse(node)}' cannot be computed when the part is called")
