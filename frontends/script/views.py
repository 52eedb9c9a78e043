# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Aliases of buffers (`B = T.Buffer((16,), data=A.data)`), rewritten as elements of the first one.

Rows are contiguous: the element at a place of the view is the one of the base at the same distance.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from .names import Names
from .program import Buffer

#: Of expressions: what a size or an index is as syntax.
Expr = ast.expr


class BufferView(NamedTuple):
    """What a name stands for: strides and the distance of its begin, in elements of a base of these sizes."""

    name: str
    base: ast.Name
    sizes: Sequence[Expr]
    strides: Sequence[Expr]
    offset: Expr | None
    #: Whether it has the very sizes of its base.
    is_same: bool

    @property
    def rank(self) -> int:
        return len(self.strides)

    @property
    def used(self) -> Sequence[Expr]:
        """What it is made of."""
        return (self.base, *self.sizes, *self.strides, *([] if self.offset is None else [self.offset]))

    def elements(self, names: Names, items: Sequence[Expr], node: ast.AST) -> list[Expr]:
        """The base's indices of an element."""
        if self.is_same:
            return list(items)
        if any(isinstance(each, ast.Slice) for each in items):
            return [self._part(names, items, node)]
        place = self._distance(items)
        found: list[Expr] = []
        for size in reversed(self.sizes[1:]):
            found.insert(0, _of(ast.Mod(), place, size))
            place = _of(ast.FloorDiv(), place, size)
        return [place, *found]

    def _part(self, names: Names, items: Sequence[Expr], node: ast.AST) -> Expr:
        """Of elements behind each other, in a base that is a row."""
        *front, last = items
        is_row = len(self.sizes) == 1 and names.found(self.strides[-1]) == 1
        if not isinstance(last, ast.Slice) or not is_row or last.lower is None or last.upper is None:
            message = f"parts of '{self.name}' are no parts of '{self.base.id}', whose memory it shows: read elements"
            raise names.source.problem(node, message)
        bounds = (self._distance([*front, each]) for each in (last.lower, last.upper))
        lower, upper = bounds
        return ast.copy_location(ast.Slice(lower=lower, upper=upper, step=last.step), last)

    def _distance(self, items: Sequence[Expr]) -> Expr:
        found = self.offset
        for item, stride in zip(items, self.strides, strict=True):
            step = _of(ast.Mult(), item, stride)
            found = step if found is None else _of(ast.Add(), found, step)
        assert found is not None
        return found


def view_of(
    name: str, buffer: Buffer, base: ast.Name, shown: Buffer, strides: Sequence[Expr] | None, offset: Expr | None
) -> BufferView:
    """The view `buffer` of a base: in rows, where no strides are given."""
    steps = rows(shown.sizes, base) if strides is None else strides
    is_same = strides is None and offset is None and shown.dims == buffer.dims and None not in buffer.dims
    return BufferView(name, base, buffer.sizes, steps, offset, is_same)


def rows(sizes: Sequence[Expr], node: ast.AST) -> list[Expr]:
    """The strides of sizes: how far each index goes."""
    found: list[Expr] = [ast.copy_location(ast.Constant(1), node)] if sizes else []
    for size in reversed(sizes[1:]):
        found.insert(0, _of(ast.Mult(), size, found[0]))
    return found


def _of(sign: ast.operator, left: Expr, right: Expr) -> Expr:
    """An expression, shorter where a factor is 1."""
    if isinstance(sign, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ast.Constant) and one.value == 1:
                return other
    return ast.copy_location(ast.BinOp(left, sign, right), left)
