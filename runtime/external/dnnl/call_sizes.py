# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that are known when a part is called: symbols in the inputs' shapes, and expressions over them."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Mapping, Sequence

from ....support.errors import RelaxError
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


def size(known: Size, symbols: Mapping[str, int]) -> int:
    return known if isinstance(known, int) else _value(_tree(known), symbols)


def bind(values: Sequence[Value], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    """The symbols that are sizes of inputs. Raises RelaxError where a shape is not the one that is stated."""
    symbols: dict[str, int] = {}
    for value, shape in zip(values, shapes, strict=True):
        for known, found in zip(value.dims, shape, strict=True):
            if isinstance(known, str) and known.isidentifier():
                symbols.setdefault(known, found)
    for number, (value, shape) in enumerate(zip(values, shapes, strict=True)):
        wanted = tuple(size(known, symbols) for known in value.dims)
        if wanted != tuple(shape):
            raise RelaxError(f"argument {number} has the shape {tuple(shape)}, and {wanted} is expected")
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
        return _FUNCTIONS[node.func.id](*(_value(each, symbols) for each in node.args))
    raise RelaxError(f"the size '{ast.unparse(node)}' cannot be computed when the part is called")
