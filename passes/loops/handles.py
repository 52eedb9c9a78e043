# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a schedule speaks of: blocks, loops, and functions of indices."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.core.symbols_expr import Size, SymExpr, extremum, make_variable, substituted
from ...support.errors import RelaxError


@dataclass(frozen=True)
class BlockRV:
    """A block of a PrimFunc, by its name."""

    function: str
    name: str


@dataclass(frozen=True)
class LoopRV:
    """A loop of a PrimFunc, by its variable's name."""

    function: str
    name: str


@dataclass(frozen=True)
class IndexMap:
    """Indices made of indices: `lambda i, j: (i // 16, j, i % 16)`."""

    parameters: tuple[str, ...]
    results: tuple[Size, ...]

    @classmethod
    def of(cls, function: Callable[..., Any] | IndexMap, rank: int) -> IndexMap:
        """What a function makes of variables; `*indices` are as many as there are dimensions."""
        if isinstance(function, IndexMap):
            return function
        names: list[str] = []
        for parameter in inspect.signature(function).parameters.values():
            several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
            names += [f"i{n}" for n in range(len(names), rank)] if several else [parameter.name]
        made = function(*map(make_variable, names))
        results = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        wrong = next((each for each in results if not isinstance(each, (int, SymExpr)) or isinstance(each, bool)), None)
        if wrong is not None:
            raise RelaxError(f"an index map gives indices made of its own with + - * // %, not {wrong!r}")
        return cls(tuple(names), results)

    def at(self, indices: Sequence[Size]) -> tuple[Size, ...]:
        values = dict(zip(self.parameters, indices, strict=True))
        return tuple(substituted(result, values) for result in self.results)

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results)) + ("," if len(self.results) == 1 else "")
        return f"lambda {', '.join(self.parameters)}: ({results})"


def index_map_of(node: ast.Lambda) -> IndexMap:
    """An index map that stands in a text. Raises RelaxError."""
    names = [argument.arg for argument in node.args.args]
    body = node.body.elts if isinstance(node.body, ast.Tuple) else [node.body]
    return IndexMap(tuple(names), tuple(_index(each, names) for each in body))


def _index(node: ast.expr, names: Sequence[str]) -> Size:
    if isinstance(node, ast.Name) and node.id in names:
        return make_variable(node.id)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_index(node.operand, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        return extremum(node.func.id, [_index(each, names) for each in node.args])
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_index(node.left, names), _index(node.right, names))
    raise RelaxError(f"'{ast.unparse(node)}' is no index made of {', '.join(names)} with + - * // %")


_SIGNS: dict[type, Callable[[Any, Any], Size]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
    ast.Mult: lambda x, y: x * y,
    ast.FloorDiv: lambda x, y: x // y,
    ast.Mod: lambda x, y: x % y,
}
