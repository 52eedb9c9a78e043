# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Affine expressions of the indices in a loop nest: maps, single variables, and ranges."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from ...bindings.affine import plain_dim, value_of
from ...bindings.ir import AffineExpr, AffineMap
from ...bindings.mlir import ir
from ...dialects.core.intervals import OPERATIONS, UNKNOWN, Bounds
from ...dialects.core.symbols import Dim
from .common.affine import affine
from .names import Names


class AffineIndex(NamedTuple):
    """Affine index of a buffer access, with its range."""

    expression: AffineExpr
    #: Position of the variable if the index is a single variable, otherwise None.
    dim: int | None
    #: The lowest and the highest value; None if unknown.
    low: int | None
    high: int | None


class Variables:
    """Variables of a loop nest with their names and sizes."""

    def __init__(self, names: Names, variables: Sequence[tuple[str, Dim]]):
        self._names = names
        self.positions = {name: position for position, (name, _) in enumerate(variables)}
        self.sizes = [size for _, size in variables]
        self._alone = {
            name: AffineIndex(ir.AffineExpr.get_dim(position), position, *_range_of_variable(self.sizes[position]))
            for name, position in self.positions.items()
        }

    def indices(self, nodes: Sequence[ast.expr]) -> tuple[AffineIndex, ...] | None:
        """Return the affine indices, or None if an expression is not affine."""
        found = []
        for node in nodes:
            if (index := self._index(node)) is None:
                return None
            found.append(index)
        return tuple(found)

    def map(self, indices: Sequence[AffineIndex]) -> AffineMap:
        return ir.AffineMap.get(len(self.sizes), 0, [index.expression for index in indices])

    def _index(self, node: ast.expr) -> AffineIndex | None:
        if isinstance(node, ast.Name) and node.id in self._alone:
            return self._alone[node.id]
        expression = affine(node, self._names.operation, self._leaf)
        return None if expression is None else self._known(expression)

    def _known(self, expression: AffineExpr) -> AffineIndex:
        bounds = value_of(
            expression,
            lambda position: _range_of_variable(self.sizes[position]),
            lambda sign, left, right: OPERATIONS[sign](left, right),
            lambda value: (value, value),
        )
        return AffineIndex(expression, plain_dim(expression), *bounds)

    def _leaf(self, node: ast.expr) -> AffineExpr | None:
        if isinstance(node, ast.Name) and node.id in self._alone:
            return self._alone[node.id].expression
        value = self._names.found(node)
        return ir.AffineExpr.get_constant(value) if type(value) is int and abs(value) < 1 << 62 else None


def _range_of_variable(size: Dim) -> Bounds:
    return (0, size - 1) if isinstance(size, int) and size > 0 else UNKNOWN
