# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization of blocks: nested blocks become one block, and variables that index stores together become one
variable."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import prod
from typing import NamedTuple

from ...dialects.script.syntax import names_within
from ...support.names import fresh_name
from .names import Names
from .program import SPATIAL, Block, BlockAxis, Let, Statement, Store, expressions_of


def flattened(outer: Block, inner: Block) -> Block | None:
    """Return nested blocks as one block over the loops around both, or None if variables have the same names."""
    values = {axis.name: axis.binding for axis in outer.axes}
    if any(axis.name in values for axis in inner.axes):
        return None
    used = names_within(*_expressions(inner))
    kept = [axis for axis in outer.axes if axis.name in used]
    own = [axis._replace(binding=_with_values(axis.binding, values)) for axis in inner.axes]
    where = [_with_values(node, values) for node in (*outer.where, *inner.where)]
    return replace(inner, axes=(*kept, *own), where=tuple(where))


def starting(outer: Block, statement: Statement) -> Block:
    """Return the init of a block as a block of its own."""
    firsts = [ast.Compare(axis.binding, [ast.Lt()], [ast.Constant(1)]) for axis in outer.axes if axis.kind == "reduce"]
    where = [ast.fix_missing_locations(ast.copy_location(comparison, outer.node)) for comparison in firsts]
    return replace(outer, where=(*outer.where, *where), init=(), body=(statement,))


def _expressions(block: Block) -> list[ast.expr]:
    return [node for each in (*block.init, *block.body) for node in expressions_of(each)]


class _Values(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]):
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return super().generic_visit(copy(node))


def _with_values(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    return _copied(node, _Values(values))


def _copied(node: ast.expr, change: ast.NodeTransformer) -> ast.expr:
    expr: ast.expr = change.visit(_own(node))
    return expr


def _own(node: ast.expr) -> ast.expr:
    """Return a copy of an expression that shares no nodes with the program."""
    made = copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(made, name, [_own(each) if isinstance(each, ast.AST) else each for each in value])  # type: ignore[arg-type]
        elif isinstance(value, ast.expr):
            setattr(made, name, _own(value))
    return made


# ---- variables ----


def without_units(block: Block, sizes: Mapping[str, object]) -> Block:
    """Return a block without the variables of size 1 that no store is indexed by."""
    stored = [node for each in (*block.init, *block.body) if isinstance(each, Store) for node in each.indices]
    used = names_within(*stored)
    gone = [axis for axis in block.axes if axis.kind == SPATIAL and sizes.get(axis.name) == 1 and axis.name not in used]
    if not gone:
        return block
    change = _Values({axis.name: _at(ast.Constant(0), axis.node) for axis in gone})
    return _changed(replace(block, axes=tuple(axis for axis in block.axes if axis not in gone)), change)


def _changed(block: Block, change: ast.NodeTransformer) -> Block:
    """Return a block with changed expressions."""

    def other(statement: Statement) -> Statement:
        if isinstance(statement, Store):
            indices = tuple(_copied(index, change) for index in statement.indices)
            return replace(statement, indices=indices, value=_copied(statement.value, change))
        return replace(statement, value=_copied(statement.value, change)) if isinstance(statement, Let) else statement

    return replace(block, init=tuple(map(other, block.init)), body=tuple(map(other, block.body)))


class _Group(NamedTuple):
    """Variables that form one index of a store, with their strides in it."""

    name: str
    factors: dict[str, int]
    sizes: dict[str, int]

    @property
    def size(self) -> int:
        return prod(self.sizes.values())

    def part(self, name: str) -> ast.expr:
        """Return one of the variables in terms of the group's variable."""
        whole: ast.expr = ast.Name(self.name, ast.Load())
        if (factor := self.factors[name]) != 1:
            whole = ast.BinOp(whole, ast.FloorDiv(), ast.Constant(factor))
        is_first = factor * self.sizes[name] == self.size
        return whole if is_first else ast.BinOp(whole, ast.Mod(), ast.Constant(self.sizes[name]))


def merged(block: Block, sizes: Mapping[str, object], names: Names) -> Block:
    """Return a block with one variable for several that index stores together, as in `C[vo * 16 + vi]`.

    A block without such variables is returned unchanged.
    """
    stores = [each for each in (*block.init, *block.body) if isinstance(each, Store)]
    taken = {
        node.id for expression in _expressions(block) for node in ast.walk(expression) if isinstance(node, ast.Name)
    }
    groups: list[_Group] = []
    kinds = {axis.name: axis.kind for axis in block.axes}
    for index in (index for store in stores for index in store.indices):
        linear = _linear(index, names)
        factors = {} if linear is None else {name: factor for name, factor in linear.items() if name}
        if len(factors) < 2 or any(factors == each.factors for each in groups):
            continue
        known = {name: size for name in factors if isinstance(size := sizes.get(name), int)}
        is_apart = all(factors.keys().isdisjoint(each.factors) for each in groups)
        group = _Group(fresh_name("_".join(factors), taken), factors, known)
        if not is_apart or any(kinds.get(name) != SPATIAL for name in factors) or not _is_dense(group):
            return block
        taken.add(group.name)
        groups.append(group)
    return _with_groups(block, groups, names) if groups else block


def _is_dense(group: _Group) -> bool:
    """Check whether the values of the group and the combinations of its variables correspond one to one."""
    if group.sizes.keys() != group.factors.keys():
        return False
    count = 1
    for name in sorted(group.factors, key=lambda factor: (group.factors[factor], group.sizes[factor])):
        if group.factors[name] != count:
            return False
        count *= group.sizes[name]
    return True


def _with_groups(block: Block, groups: Sequence[_Group], names: Names) -> Block:
    axes: list[BlockAxis] = []
    bindings = {axis.name: axis.binding for axis in block.axes}
    for axis in block.axes:
        if (group := next((each for each in groups if axis.name in each.factors), None)) is None:
            axes.append(axis)
        elif all(block_axis.name != group.name for block_axis in axes):
            terms = [(factor, bindings[name]) for name, factor in group.factors.items()]
            binding = _at(_sum(terms, 0), axis.node)
            size = _at(ast.Constant(group.size), axis.node)
            axes.append(BlockAxis(axis.node, group.name, SPATIAL, None, size, binding))
    return _changed(replace(block, axes=tuple(axes)), _Grouped(groups, names))


class _Grouped(ast.NodeTransformer):
    """Replacement of groups of variables by the group's variable."""

    def __init__(self, groups: Sequence[_Group], names: Names):
        self._groups, self._names = groups, names

    def visit(self, node: ast.AST) -> ast.AST:
        linear = _linear(node, self._names) if isinstance(node, ast.expr) else None
        if linear is None or not any(name in group.factors for group in self._groups for name in linear):
            return self.generic_visit(node)
        return _at(self._sum(dict(linear)), node)

    def _sum(self, linear: dict[str, int]) -> ast.expr:
        terms: list[tuple[int, ast.expr]] = []
        for group in self._groups:
            first = next(iter(group.factors))
            by, rest = divmod(linear.get(first, 0), group.factors[first])
            if by and not rest and all(linear.get(name) == by * factor for name, factor in group.factors.items()):
                terms.append((by, ast.Name(group.name, ast.Load())))
                for name in group.factors:
                    del linear[name]
            terms += [(linear.pop(name), group.part(name)) for name in group.factors if name in linear]
        constant = linear.pop("", 0)
        return _sum([*terms, *((factor, ast.Name(name, ast.Load())) for name, factor in linear.items())], constant)


def _sum(terms: Sequence[tuple[int, ast.expr]], constant: int) -> ast.expr:
    binary: ast.expr | None = None
    for factor, expr in terms:
        term = expr if factor == 1 else ast.BinOp(expr, ast.Mult(), ast.Constant(factor))
        binary = term if binary is None else ast.BinOp(binary, ast.Add(), term)
    if binary is None:
        return ast.Constant(constant)
    return ast.BinOp(binary, ast.Add(), ast.Constant(constant)) if constant else binary


def _at(expr: ast.expr, node: ast.AST) -> ast.expr:
    """Give a new expression the position of a node."""
    for each in ast.walk(expr):
        if not hasattr(each, "lineno"):
            ast.copy_location(each, node)
    return expr


def _linear(node: ast.expr, names: Names) -> dict[str, int] | None:
    """Return the factor of each variable in an expression, with "" for the constant; None if it is not linear."""
    known = names.found(node)
    if type(known) is int:
        return {"": known} if known else {}
    if isinstance(node, ast.Name):
        return {node.id: 1}
    sign, operands = names.operation(node)
    if len(operands) != 2 or sign not in ("+", "-", "*"):
        return None
    left, right = (_linear(operand, names) for operand in operands)
    if left is None or right is None:
        return None
    if sign != "*":
        by = 1 if sign == "+" else -1
        found = {name: left.get(name, 0) + by * right.get(name, 0) for name in (*left, *right)}
    elif not any(left) or not any(right):  # one of them is a constant
        scale, form = (left.get("", 0), right) if not any(left) else (right.get("", 0), left)
        found = {name: scale * factor for name, factor in form.items()}
    else:
        return None
    return {name: factor for name, factor in found.items() if factor}
