# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of buffers, written again as elements: vectors (`A[0:4]`, T.Ramp) and regions that T.match_buffer names."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from ...dialects.script.syntax import APPLIED, items_of, names_in, operation_of, statements_within, targets_of
from ...support.suggest import counted
from .annotations import arguments_of
from .names import TIR, Names
from .program import Buffer, indices_of, parts_within
from .views import BufferView

#: The variable of the loop over a part: no name in a script is like it.
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
    """A store into a part as one of its elements: a variable's name, how far it goes, target and value at it.

    None where the target is an element. Raises ScriptError where the elements depend on each other.
    """
    if not any(_is_part(names, each) for each in indices_of(target)):
        return None
    element = _Lane(names)
    place = element.visit(deepcopy(target))
    written = element.visit(deepcopy(value))
    assert element.lanes is not None
    for each in (part for top in (written, *indices_of(place)) for part in parts_within(top)):
        if not isinstance(each, ast.Subscript) or ast.dump(each.value) != ast.dump(place.value):
            continue
        if ast.dump(each.slice) != ast.dump(place.slice):
            message = "this part is written after all of it was read at another place, which a loop does not do"
            raise names.source.problem(target, message)
    return _LANE, element.lanes, place, written


def _is_part(names: Names, node: ast.expr) -> bool:
    kind, name = names.word(node)
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Call) and kind == TIR and name in _RAMPS)


class _Lane(ast.NodeTransformer):
    """Vectors as their element at a variable. All have as many elements."""

    def __init__(self, names: Names):
        self._names = names
        self.lanes: int | None = None

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if sum(_is_part(self._names, each) for each in indices_of(node)) > 1:
            raise self._names.source.problem(node, "a part goes along one dimension: the other indices are numbers")
        return self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        return self._at(node, _sliced(self._names, node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        kind, name = self._names.word(node)
        if kind == TIR and name in _RAMPS:
            given = arguments_of(self._names, node, ("base", "stride", "lanes"), 3)
            return self._at(node, BufferPart(given["base"], given["stride"], _count(self._names, given["lanes"])))
        if kind == TIR and name in _BROADCASTS:
            given = arguments_of(self._names, node, ("value", "lanes"), 2)
            self._agree(node, _count(self._names, given["lanes"]))
            return self.visit(given["value"])
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """An element type of vectors, "float32x4"."""
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
            raise self._names.source.problem(node, f"a part of {count} elements with one of {self.lanes}")
        self.lanes = count


def moved(index: ast.expr, start: ast.expr) -> ast.expr:
    """An index that is counted from a start."""
    if isinstance(start, ast.Constant) and start.value == 0:
        return index
    return ast.copy_location(ast.BinOp(start, ast.Add(), index), index)


# ---- how many elements ----


def _sliced(names: Names, node: ast.Slice) -> BufferPart:
    """Raises ScriptError unless its begin and its end differ by a number."""
    if node.lower is None or node.upper is None:
        raise names.source.problem(node, "a part says where it begins and where it ends: A[0:4]")
    step = 1 if node.step is None else names.found(node.step)
    extent = _difference(names, node.upper, node.lower)
    if extent is None or type(step) is not int or step < 1 or extent < 1:
        raise names.source.problem(node, "a part has a number of elements that is known: A[i * 4 : i * 4 + 4]")
    return BufferPart(node.lower, node.step, -(-extent // step))


def _count(names: Names, node: ast.expr) -> int:
    count = names.found(node)
    if type(count) is not int or count < 1:
        raise names.source.problem(node, "a vector has a number of elements that is known")
    return count


def _difference(names: Names, one: ast.expr, other: ast.expr) -> int | None:
    """Of two indices that differ by a number; None of others."""
    (symbols, number), (other_symbols, other_number) = _sum(names, one), _sum(names, other)
    return number - other_number if symbols == other_symbols else None


def _sum(names: Names, node: ast.expr) -> tuple[list[str], int]:
    """What an index adds up: texts and a number."""
    value = names.found(node)
    if type(value) is int:
        return [], value
    sign, operands = operation_of(node)
    if len(operands) == 2 and sign in ("+", "-"):
        (left, number), (right, other) = (_sum(names, each) for each in operands)
        if sign == "+" or not right:
            return sorted([*left, *right]), APPLIED[sign](number, other)
    return [ast.dump(node)], 0


# ---- regions ----


class MatchedRegion(NamedTuple):
    """Where a buffer is matched: indices that stay, and where those that follow begin."""

    name: str
    base: ast.Name
    front: Sequence[ast.expr]
    starts: Sequence[ast.expr]

    @property
    def rank(self) -> int:
        return len(self.starts)

    @property
    def used(self) -> Sequence[ast.expr]:
        """What it is made of."""
        return (self.base, *self.front, *self.starts)

    def elements(self, names: Names, items: Sequence[ast.expr], node: ast.AST) -> list[ast.expr]:
        """The whole buffer's indices of an element, or of a part."""
        del names, node
        return [*self.front, *map(_moved, items, self.starts)]


def within(names: Names, region: MatchedRegion | BufferView, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements that say the whole buffer's elements for the region's. Raises ScriptError."""
    used = {node.id for each in region.used for node in ast.walk(each) if isinstance(node, ast.Name)}
    for statement in statements_within(statements):
        for name in (name for target in targets_of(statement) for name in names_in(target)):
            if name == region.name or name in used:
                message = f"'{name}' is given another meaning where the region '{region.name}' is known"
                raise names.source.problem(statement, message)
    return [_Whole(names, region).visit(deepcopy(each)) for each in statements]


def region_of(names: Names, name: str, given: Mapping[str, ast.expr], buffer: Buffer) -> MatchedRegion:
    """`T.match_buffer(A[i * 16 : i * 16 + 16, 0:16], (16, 16))`; A alone is all of it. Raises ScriptError."""
    param = given["param"]
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
    shape = given["shape"]
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
    """Where an index of a region begins, and how far it goes if that is known."""
    if not isinstance(item, ast.Slice):
        return item, 1
    if item.lower is None or item.upper is None or item.step is not None:
        raise names.source.problem(item, "a region says where it begins and where it ends: A[0:16]")
    return item.lower, _difference(names, item.upper, item.lower)


class _Whole(ast.NodeTransformer):
    """Elements of a region as the buffer's."""

    def __init__(self, names: Names, region: MatchedRegion | BufferView):
        self._names, self._region = names, region

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        region = self._region
        if not isinstance(node.value, ast.Name) or node.value.id != region.name:
            return self.generic_visit(node)
        items = [self.visit(each) for each in indices_of(node)]
        if len(items) != region.rank:
            message = f"'{region.name}' has {counted(region.rank, 'dimension')}, not {len(items)}"
            raise self._names.source.problem(node, message)
        elements = region.elements(self._names, items, node)
        place = ast.copy_location(ast.Tuple(elements, ast.Load()), node.slice)
        return ast.copy_location(ast.Subscript(ast.copy_location(deepcopy(region.base), node), place, node.ctx), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        region = self._region
        if isinstance(region, BufferView) and self._names.word(node) in ((TIR, "reads"), (TIR, "writes")):
            # Where in the buffer is ignored.
            listed = [item for each in node.args for item in (each.elts if isinstance(each, ast.List) else [each])]
            bases = [each.value if isinstance(each, ast.Subscript) else each for each in listed]
            is_view = [isinstance(each, ast.Name) and each.id == region.name for each in bases]
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
                f"'{node.id}' is a region of '{self._region.base.id}': only its elements are known, {node.id}[...]"
            )
            raise self._names.source.problem(node, message)
        return node


def _moved(item: ast.expr, start: ast.expr) -> ast.expr:
    if not isinstance(item, ast.Slice):
        return moved(item, start)
    lower, upper = (None if each is None else moved(each, start) for each in (item.lower, item.upper))
    return ast.copy_location(ast.Slice(lower=lower, upper=upper, step=item.step), item)
