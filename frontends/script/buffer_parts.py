# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of buffers, rewritten as elements: vectors (`A[0:4]`, T.Ramp) and regions of T.match_buffer."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from ...dialects.script.syntax import (
    APPLIED,
    indices_of,
    items_of,
    names_in,
    operation_of,
    parts_within,
    statements_within,
    targets_of,
)
from ...support.suggest import counted
from .annotations import arguments_of
from .names import TIR, Names
from .program import Buffer
from .views import BufferView

#: The variable of the loop over a part. No identifier in a script equals it.
_LANE = "(lane)"
_RAMPS, _BROADCASTS = ("Ramp", "ramp"), ("Broadcast", "broadcast")


class BufferPart(NamedTuple):
    """Several elements along one dimension."""

    start: ast.expr
    step: ast.expr | None
    lanes: int


def vector_store(
    names: Names, target: ast.Subscript, value: ast.expr
) -> tuple[str, int, ast.Subscript, ast.expr] | None:
    """Rewrite a store to a part as a store to one of its elements.

    Returns the loop variable, its number of iterations, and the target and value at that variable; None if the target
    is an element. Raises ScriptError if the elements depend on each other.
    """
    if not any(_is_part(names, index) for index in indices_of(target)):
        return None
    element = _Lane(names)
    place = element.visit(deepcopy(target))
    written = element.visit(deepcopy(value))
    assert element.lanes is not None
    for expr in (part for top in (written, *indices_of(place)) for part in parts_within(top)):
        if not isinstance(expr, ast.Subscript) or ast.dump(expr.value) != ast.dump(place.value):
            continue
        if ast.dump(expr.slice) != ast.dump(place.slice):
            message = "this part reads its buffer at other indices, which a loop may already have overwritten"
            raise names.source.problem(target, message)
    return _LANE, element.lanes, place, written


def _is_part(names: Names, node: ast.expr) -> bool:
    kind, name = names.word(node)
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Call) and kind == TIR and name in _RAMPS)


class _Lane(ast.NodeTransformer):
    """Rewrite of vectors as their element at a loop variable. All vectors have the same number of elements."""

    def __init__(self, names: Names):
        self._names = names
        self.lanes: int | None = None

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if sum(_is_part(self._names, index) for index in indices_of(node)) > 1:
            raise self._names.source.problem(node, "a part has one dimension: the other indices must be numbers")
        return self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        return self._at(node, _sliced(self._names, node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        kind, name = self._names.word(node)
        if kind == TIR and name in _RAMPS:
            arguments = arguments_of(self._names, node, ("base", "stride", "lanes"), 3)
            return self._at(
                node, BufferPart(arguments["base"], arguments["stride"], _count(self._names, arguments["lanes"]))
            )
        if kind == TIR and name in _BROADCASTS:
            arguments = arguments_of(self._names, node, ("value", "lanes"), 2)
            self._agree(node, _count(self._names, arguments["lanes"]))
            return self.visit(arguments["value"])
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Rewrite an element type of vectors, such as "float32x4", as the type of one element."""
        if isinstance(node.value, str) and self.lanes is not None:
            return ast.copy_location(ast.Constant(node.value.removesuffix(f"x{self.lanes}")), node)
        return node

    def _at(self, node: ast.expr, part: BufferPart) -> ast.expr:
        self._agree(node, part.lanes)
        offset: ast.expr = ast.copy_location(ast.Name(_LANE, ast.Load()), node)
        if part.step is not None:
            offset = ast.copy_location(ast.BinOp(offset, ast.Mult(), part.step), node)
        return moved(offset, part.start)

    def _agree(self, node: ast.expr, count: int) -> None:
        if self.lanes not in (None, count):
            raise self._names.source.problem(
                node, f"a part of {count} elements is combined with a part of {self.lanes}"
            )
        self.lanes = count


def moved(index: ast.expr, start: ast.expr) -> ast.expr:
    """Return an index plus a start offset."""
    if isinstance(start, ast.Constant) and start.value == 0:
        return index
    return ast.copy_location(ast.BinOp(start, ast.Add(), index), index)


# ---- number of elements ----


def _sliced(names: Names, node: ast.Slice) -> BufferPart:
    """Return the part that a slice denotes. Raises ScriptError unless its end minus its begin is a constant."""
    if node.lower is None or node.upper is None:
        raise names.source.problem(node, "a part needs a start and an end: A[0:4]")
    step = 1 if node.step is None else names.found(node.step)
    extent = _difference(names, node.upper, node.lower)
    if extent is None or type(step) is not int or step < 1 or extent < 1:
        raise names.source.problem(node, "a part needs a constant number of elements: A[i * 4 : i * 4 + 4]")
    return BufferPart(node.lower, node.step, -(-extent // step))


def _count(names: Names, node: ast.expr) -> int:
    count = names.found(node)
    if type(count) is not int or count < 1:
        raise names.source.problem(node, "a vector needs a constant number of elements")
    return count


def _difference(names: Names, one: ast.expr, other: ast.expr) -> int | None:
    """Return the difference of two indices, or None if the difference is not a constant."""
    (symbols, number), (other_symbols, other_number) = _sum(names, one), _sum(names, other)
    return number - other_number if symbols == other_symbols else None


def _sum(names: Names, node: ast.expr) -> tuple[list[str], int]:
    """Split an index into the terms of its sum and a constant."""
    value = names.found(node)
    if type(value) is int:
        return [], value
    sign, operands = operation_of(node)
    if len(operands) == 2 and sign in ("+", "-"):
        (left, number), (right, other) = (_sum(names, operand) for operand in operands)
        if sign == "+" or not right:
            return sorted([*left, *right]), APPLIED[sign](number, other)
    return [ast.dump(node)], 0


# ---- regions ----


class MatchedRegion(NamedTuple):
    """Region of a buffer: leading indices that are constant, and the start of each other dimension."""

    name: str
    base: ast.Name
    front: Sequence[ast.expr]
    starts: Sequence[ast.expr]

    @property
    def rank(self) -> int:
        return len(self.starts)

    @property
    def used(self) -> Sequence[ast.expr]:
        """Return the expressions that the region depends on."""
        return (self.base, *self.front, *self.starts)

    def elements(self, names: Names, items: Sequence[ast.expr], node: ast.AST) -> list[ast.expr]:
        """Return the indices in the whole buffer of an element or a part of the region."""
        del names, node
        return [*self.front, *map(_moved, items, self.starts)]


def within(names: Names, region: MatchedRegion | BufferView, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Rewrite the region's elements in statements as elements of the whole buffer. Raises ScriptError."""
    used = {node.id for each in region.used for node in ast.walk(each) if isinstance(node, ast.Name)}
    for statement in statements_within(statements):
        for name in (name for target in targets_of(statement) for name in names_in(target)):
            if name == region.name or name in used:
                message = f"'{name}' is redefined in the scope of the region '{region.name}'"
                raise names.source.problem(statement, message)
    return [_Whole(names, region).visit(deepcopy(stmt)) for stmt in statements]


def region_of(names: Names, name: str, exprs: Mapping[str, ast.expr], buffer: Buffer) -> MatchedRegion:
    """Return the region of `T.match_buffer(A[i * 16 : i * 16 + 16, 0:16], (16, 16))`. Raises ScriptError.

    Without a subscript the region is the whole buffer.
    """
    param = exprs["param"]
    base = param.value if isinstance(param, ast.Subscript) else param
    assert isinstance(base, ast.Name)
    zero = ast.copy_location(ast.Constant(0), param)
    items: list[tuple[ast.expr, int | None]]
    if isinstance(param, ast.Subscript):
        items = [_begin(names, item) for item in indices_of(param)]
    else:
        items = [(zero, dim if isinstance(dim, int) else None) for dim in buffer.dims]
    if len(items) != len(buffer.dims):
        raise names.source.problem(param, f"'{buffer.name}' has {len(buffer.dims)} dimensions, not {len(items)}")
    shape = exprs["shape"]
    sizes = items_of(shape)
    dropped = len(items) - len(sizes)
    if dropped < 0 or any(extent != 1 for _, extent in items[:dropped]):
        raise names.source.problem(shape, f"{len(sizes)} sizes for a region of {len(items)} dimensions")
    for size, (_, extent) in zip(sizes, items[dropped:], strict=True):
        wanted = names.found(size)
        if isinstance(wanted, int) and extent is not None and wanted != extent:
            raise names.source.problem(size, f"the region has {extent} elements here, not {wanted}")
    starts = [start for start, _ in items]
    return MatchedRegion(name, base, starts[:dropped], starts[dropped:])


def _begin(names: Names, item: ast.expr) -> tuple[ast.expr, int | None]:
    """Return the start of an index of a region, and its extent if that is constant."""
    if not isinstance(item, ast.Slice):
        return item, 1
    if item.lower is None or item.upper is None or item.step is not None:
        raise names.source.problem(item, "a region needs a start and an end: A[0:16]")
    return item.lower, _difference(names, item.upper, item.lower)


class _Whole(ast.NodeTransformer):
    """Rewrite of a region's elements as elements of the whole buffer."""

    def __init__(self, names: Names, region: MatchedRegion | BufferView):
        self._names, self._region = names, region

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        region = self._region
        if not isinstance(node.value, ast.Name) or node.value.id != region.name:
            return self.generic_visit(node)
        items = [self.visit(index) for index in indices_of(node)]
        if len(items) != region.rank:
            message = f"'{region.name}' has {counted(region.rank, 'dimension')}, not {len(items)}"
            raise self._names.source.problem(node, message)
        place = ast.copy_location(ast.Tuple(region.elements(self._names, items, node), ast.Load()), node.slice)
        return ast.copy_location(ast.Subscript(ast.copy_location(deepcopy(region.base), node), place, node.ctx), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        region = self._region
        if isinstance(region, BufferView) and self._names.word(node) in ((TIR, "reads"), (TIR, "writes")):
            # Only the buffers matter here, not the indices.
            listed = [item for arg in node.args for item in (arg.elts if isinstance(arg, ast.List) else [arg])]
            bases = [each.value if isinstance(each, ast.Subscript) else each for each in listed]
            is_view = [isinstance(base, ast.Name) and base.id == region.name for base in bases]
            node.args = [region.base if is_it else each for is_it, each in zip(is_view, listed, strict=True)]
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        region = self._region
        is_memory = isinstance(node.value, ast.Name) and node.value.id == region.name and node.attr == "data"
        if is_memory and isinstance(region, BufferView) and region.offset is None:
            return ast.copy_location(ast.Attribute(region.base, "data", ast.Load()), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self._region.name:
            message = (
                f"'{node.id}' is a region of '{self._region.base.id}': only its elements can be used, {node.id}[...]"
            )
            raise self._names.source.problem(node, message)
        return node


def _moved(item: ast.expr, start: ast.expr) -> ast.expr:
    if not isinstance(item, ast.Slice):
        return moved(item, start)
    lower, upper = (None if each is None else moved(each, start) for each in (item.lower, item.upper))
    return ast.copy_location(ast.Slice(lower=lower, upper=upper, step=item.step), item)
