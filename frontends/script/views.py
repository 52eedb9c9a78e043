# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Aliases of buffers (`B = T.Buffer((16,), data=A.data)`), rewritten as elements of the base.

Memory is row-major and contiguous: an element of the view is the element of the base at the same offset.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from .names import Names
from .program import Buffer

#: Syntax of a size or an index.
Expr = ast.expr


class BufferView(NamedTuple):
    """View of a base: sizes and strides of both, and the offset of its begin, in elements."""

    name: str
    base: ast.Name
    sizes: Sequence[Expr]
    strides: Sequence[Expr]
    offset: Expr | None
    #: True if the view has exactly the sizes of its base.
    is_same: bool

    @property
    def rank(self) -> int:
        return len(self.strides)

    @property
    def used(self) -> Sequence[Expr]:
        """Return the expressions that the view depends on."""
        return (self.base, *self.sizes, *self.strides, *([] if self.offset is None else [self.offset]))

    def elements(self, names: Names, items: Sequence[Expr], node: ast.AST) -> list[Expr]:
        """Return the indices in the base of an element of the view."""
        if self.is_same:
            return list(items)
        if any(isinstance(expr, ast.Slice) for expr in items):
            return [self._part(names, items, node)]
        place = self._distance(items)
        exprs: list[Expr] = []
        for size in reversed(self.sizes[1:]):
            exprs.insert(0, _of(ast.Mod(), place, size))
            place = _of(ast.FloorDiv(), place, size)
        return [place, *exprs]

    def _part(self, names: Names, items: Sequence[Expr], node: ast.AST) -> Expr:
        """Return the slice for contiguous elements in a one-dimensional base."""
        *front, last = items
        is_row = len(self.sizes) == 1 and names.found(self.strides[-1]) == 1
        if not isinstance(last, ast.Slice) or not is_row or last.lower is None or last.upper is None:
            message = f"parts of '{self.name}' are not parts of '{self.base.id}', which it is a view of: read elements"
            raise names.source.problem(node, message)
        bounds = (self._distance([*front, each]) for each in (last.lower, last.upper))
        lower, upper = bounds
        return ast.copy_location(ast.Slice(lower=lower, upper=upper, step=last.step), last)

    def _distance(self, items: Sequence[Expr]) -> Expr:
        distance = self.offset
        for item, stride in zip(items, self.strides, strict=True):
            step = _of(ast.Mult(), item, stride)
            distance = step if distance is None else _of(ast.Add(), distance, step)
        assert distance is not None
        return distance


def view_of(
    name: str, buffer: Buffer, base: ast.Name, shown: Buffer, strides: Sequence[Expr] | None, offset: Expr | None
) -> BufferView:
    """Return the view `buffer` of a base, row-major if no strides are stated."""
    steps = rows(shown.sizes, base) if strides is None else strides
    is_same = strides is None and offset is None and shown.dims == buffer.dims and None not in buffer.dims
    return BufferView(name, base, buffer.sizes, steps, offset, is_same)


def rows(sizes: Sequence[Expr], node: ast.AST) -> list[Expr]:
    """Return the row-major strides of sizes."""
    exprs: list[Expr] = [ast.copy_location(ast.Constant(1), node)] if sizes else []
    for size in reversed(sizes[1:]):
        exprs.insert(0, _of(ast.Mult(), size, exprs[0]))
    return exprs


def _of(sign: ast.operator, left: Expr, right: Expr) -> Expr:
    """Return a binary expression, simplified where a factor is 1."""
    if isinstance(sign, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ast.Constant) and one.value == 1:
                return other
    return ast.copy_location(ast.BinOp(left, sign, right), left)
