# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices as affine expressions of a nest's variables: where they are, what they are alone, how far they reach."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...bindings.affine import plain_dim, value_of
from ...bindings.ir import AffineExpr, AffineMap
from ...bindings.mlir import ir
from ...dialects.core.intervals import OPERATIONS, UNKNOWN, Bounds
from ...dialects.core.symbols import Dim
from .names import TIR, Names


class Index(NamedTuple):
    """An index of a buffer."""

    expression: AffineExpr
    #: The variable that it is alone.
    dim: int | None
    #: The lowest and the highest value; None where unknown.
    low: int | None
    high: int | None


class Variables:
    """The variables of a nest, by names and sizes."""

    def __init__(self, names: Names, variables: Sequence[tuple[str, Dim]]):
        self._names = names
        self.positions = {name: position for position, (name, _) in enumerate(variables)}
        self.sizes = [size for _, size in variables]
        self._alone = {
            name: Index(ir.AffineExpr.get_dim(position), position, *_range_of_variable(self.sizes[position]))
            for name, position in self.positions.items()
        }

    def indices(self, nodes: Sequence[ast.expr]) -> tuple[Index, ...] | None:
        """None where one is not affine."""
        found = []
        for node in nodes:
            index = self._index(node)
            if index is None:
                return None
            found.append(index)
        return tuple(found)

    def map(self, indices: Sequence[Index]) -> AffineMap:
        return ir.AffineMap.get(len(self.sizes), 0, [index.expression for index in indices])

    def _index(self, node: ast.expr) -> Index | None:
        if isinstance(node, ast.Name) and node.id in self._alone:
            return self._alone[node.id]
        expression = self._expression(node)
        return None if expression is None else self._known(expression)

    def _known(self, expression: AffineExpr) -> Index:
        bounds = value_of(
            expression,
            lambda position: _range_of_variable(self.sizes[position]),
            lambda sign, left, right: OPERATIONS[sign](left, right),
            lambda value: (value, value),
        )
        return Index(expression, plain_dim(expression), *bounds)

    def _expression(self, node: ast.expr) -> AffineExpr | None:
        if isinstance(node, ast.Name) and node.id in self._alone:
            return self._alone[node.id].expression
        if isinstance(node, ast.BinOp):
            left, right = self._expression(node.left), self._expression(node.right)
            return None if left is None or right is None else _affine(node.op, left, right)
        if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
            word = self._names.word(node.func)
            sign = {"floordiv": ast.FloorDiv(), "floormod": ast.Mod()}.get(word[1]) if word and word[0] == TIR else None
            left, right = (self._expression(each) for each in node.args)
            return None if sign is None or left is None or right is None else _affine(sign, left, right)
        value = self._names.found(node)
        return ir.AffineExpr.get_constant(value) if type(value) is int and abs(value) < 1 << 62 else None


def _affine(sign: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(sign, ast.Add):
        return left + right
    if isinstance(sign, ast.Sub):
        return left - right
    is_number = [isinstance(each.maybe_downcast(), ir.AffineConstantExpr) for each in (left, right)]
    if isinstance(sign, ast.Mult) and any(is_number):
        return left * right
    if not is_number[1] or right.maybe_downcast().value <= 0:
        return None
    if isinstance(sign, ast.FloorDiv):
        return ir.AffineExpr.get_floor_div(left, right)
    return ir.AffineExpr.get_mod(left, right) if isinstance(sign, ast.Mod) else None


def _range_of_variable(size: Dim) -> Bounds:
    return (0, size - 1) if isinstance(size, int) and size > 0 else UNKNOWN
