# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognition of structured statements: loop nests around stores that visit each point of a domain once, in any order.

Such a nest becomes a linalg operation on tensors, which fusion and schedules support. Everything else stays loops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from ...dialects.core.relation import Relation, RelationPoints, TooMany
from ...dialects.core.symbols import Dim, equal
from ...dialects.core.symbols_expr import Size, make_variable
from ...dialects.script.syntax import buffer_name, indices_of, names_within, parts_within
from .annotations import Annotations
from .common.source import ScriptError
from .index_values import IndexReader
from .nested_blocks import flattened, merged, without_units
from .program import REDUCE, SPATIAL, Allocate, Block, BlockAxis, Buffer, For, Let, Loop, Statement, Store, place_of


class Domain(NamedTuple):
    """Variable of a nest, with values from 0 to its size."""

    name: str
    is_reduction: bool
    size: ast.expr
    dim: Dim


class Nest(NamedTuple):
    """Stores at each point of a domain. `init` runs before the reductions begin."""

    node: ast.AST
    domains: tuple[Domain, ...]
    init: tuple[Statement, ...]
    body: tuple[Statement, ...]
    #: Name of the block.
    name: str = ""
    #: Loops of the text, and the block's variables in terms of these loops.
    loops: tuple[Loop, ...] = ()
    axes: tuple[BlockAxis, ...] = ()
    where: tuple[ast.expr, ...] = ()
    annotations: Mapping[str, object] = {}

    def accumulates(self, statement: Statement) -> bool:
        """Check whether a statement stores a value that depends on the previous element, directly or through a Let."""
        return not isinstance(statement, Store) or self._is_made_of(statement.value, statement.buffer)

    def reads(self, buffer: Buffer) -> bool:
        """Check whether the body depends on the previous contents of the buffer."""
        return any(self._is_made_of(each.value, buffer) for each in self.body if isinstance(each, (Store, Let)))

    def _is_made_of(self, value: ast.expr, buffer: Buffer) -> bool:
        lets = {each.name: each.value for each in self.body if isinstance(each, Let)}
        waiting, seen = [value], set()
        while waiting:
            for node in parts_within(waiting.pop()):
                name = node.id if isinstance(node, ast.Name) else ""
                if buffer_name(node) == buffer.name:
                    return True
                if name in lets and name not in seen:
                    seen.add(name)
                    waiting.append(lets[name])
        return False


class Unstructured(Exception):
    """Reason why statements stay loops."""


class NestReader:
    """Recognition of nests in statements."""

    def __init__(self, annotations: Annotations):
        self.annotations, self.names = annotations, annotations.names
        self._indices = IndexReader(annotations.names)

    def nest(self, statement: Statement) -> Nest:
        """Return the nest that a statement forms. Raises Unstructured."""
        node = statement.node
        loops: list[Loop] = []
        around: list[Block] = []
        while isinstance(statement, For) or (isinstance(statement, Block) and statement.is_around):
            inner = [each for each in statement.body if not isinstance(each, Allocate)]
            if isinstance(statement, For):
                loops += statement.loops
                if not around and (len(inner) != 1 or isinstance(inner[0], (Let, Store))):
                    return self._of_loops(node, loops, statement.body)
            elif statement.init:
                raise Unstructured("a block around others, which begins a reduction")
            else:
                around.append(statement)
            if len(inner) != 1:
                raise Unstructured("several statements in a block")
            statement = inner[0]
        if isinstance(statement, Store):
            return self._of_loops(node, loops, [statement])
        if not isinstance(statement, Block):
            raise Unstructured("not only loops and a block")
        for outer in reversed(around):
            if (flat := flattened(outer, statement)) is None:
                raise Unstructured("variables of one name in blocks in one another")
            statement = flat
        return self._of_block(node, loops, statement)

    # ---- loops without a block ----

    def _of_loops(self, node: ast.AST, loops: Sequence[Loop], body: Sequence[Statement]) -> Nest:
        stores = self._stores(body)
        if any(self._constant(loop.start) != 0 for loop in loops):
            raise Unstructured("a loop does not begin at 0")
        named = {index.id for index in stores[0].indices if isinstance(index, ast.Name)}
        domains = tuple(self._domain_of(loop.name, loop.name not in named, loop.stop) for loop in loops)
        return self._checked(Nest(node, domains, (), tuple(body), loops=tuple(loops)))

    def _constant(self, node: ast.expr | None) -> Any:
        return 0 if node is None else self.names.found(node)

    def _stores(self, body: Sequence[Statement]) -> list[Store]:
        stores = [statement for statement in body if isinstance(statement, Store)]
        if not stores or len(stores) + sum(isinstance(statement, Let) for statement in body) != len(body):
            raise Unstructured("not only stores")
        return stores

    # ---- a block ----

    def _of_block(self, node: ast.AST, loops: Sequence[Loop], block: Block) -> Nest:
        stores = self._stores(block.body)
        if block.init:
            self._stores(block.init)
        elif not block.axes:
            block = self._by_loops(block, loops, stores)
        if any(axis.kind not in (SPATIAL, REDUCE) for axis in block.axes):
            raise Unstructured("a variable that is neither spatial nor a reduction")
        # A nest visits points by the block's variables. The value of a loop variable itself would be lost.
        around = {loop.name for loop in loops} - {axis.name for axis in block.axes}
        values = [each.value for each in (*block.init, *block.body) if isinstance(each, (Store, Let))]
        if not around.isdisjoint(names_within(*values)):
            raise Unstructured("a variable of a loop, which none of the block is bound to")
        sizes = {axis.name: self._constant(self._domain(axis, loops).size) for axis in block.axes}
        block = without_units(merged(block, sizes, self.names), sizes)
        domains = tuple(self._domain(axis, loops) for axis in block.axes)
        reached = self._check_bindings(loops, block, domains)
        known = {
            domain.name: ast.copy_location(ast.Constant(reached.get(domain.name)), domain.size) for domain in domains
        }
        domains = tuple(
            domain if domain.name not in reached else domain._replace(size=known[domain.name], dim=reached[domain.name])
            for domain in domains
        )
        nest = Nest(node, domains, block.init, block.body, block.name, tuple(loops), block.axes, block.where)
        return self._checked(nest._replace(annotations=block.annotations))

    @staticmethod
    def _by_loops(block: Block, loops: Sequence[Loop], stores: Sequence[Store]) -> Block:
        """Return a block without variables of its own with the loops as variables."""
        placed = names_within(*(node for store in stores for node in store.indices))
        axes = [
            BlockAxis(loop.node, loop.name, SPATIAL if loop.name in placed else REDUCE, None, loop.stop,
                      ast.copy_location(ast.Name(loop.name, ast.Load()), block.node))
            for loop in loops
        ]  # fmt: skip
        return replace(block, axes=tuple(axes))

    def _domain(self, axis: BlockAxis, loops: Sequence[Loop]) -> Domain:
        if axis.start is not None and self._constant(axis.start) != 0:
            raise Unstructured("a variable does not begin at 0")
        if (size := axis.stop) is None:  # T.axis.remap: the size is the extent of the loop
            size = next(
                (loop.stop for loop in loops if isinstance(axis.binding, ast.Name) and loop.name == axis.binding.id),
                None,
            )
            if size is None:
                raise Unstructured("a variable of T.axis.remap that is no loop's")
        return self._domain_of(axis.name, axis.kind == REDUCE, size)

    def _domain_of(self, name: str, is_reduction: bool, size: ast.expr) -> Domain:
        """Return the domain of a variable. Its size must depend on the function's sizes only. Raises Unstructured."""
        try:
            return Domain(name, is_reduction, size, self.annotations.dim(size))
        except ScriptError as error:
            if self._constant(size) is not None:
                raise  # a number that is not a valid extent of a loop
            raise Unstructured("a size that is no size of the function") from error

    def _check_bindings(self, loops: Sequence[Loop], block: Block, domains: Sequence[Domain]) -> dict[str, int]:
        """Check that the block visits each point of the domain once, or may visit it again with the same effect.

        Returns the extents of variables that do not reach their full extent. Raises Unstructured.
        """
        if any(self._constant(loop.start) != 0 for loop in loops):
            raise Unstructured("a loop does not begin at 0")
        if not block.where and self._is_one_to_one(loops, block, domains):
            return {}
        extents = [self._constant(loop.stop) for loop in loops]
        sizes = [self._constant(domain.size) for domain in domains]
        if not all(isinstance(extent, int) and extent >= 0 for extent in (*extents, *sizes)):
            raise Unstructured("bindings of dynamic sizes")
        reached: dict[str, int] = {}
        for names, axes, conditions in _apart(loops, block):
            own = {loop.name: extent for loop, extent in zip(loops, extents, strict=True) if loop.name in names}
            bound = [(axis, size) for axis, size in zip(block.axes, sizes, strict=True) if axis in axes]
            steps = [axis for axis in axes if axis.kind == REDUCE]
            again = not steps and self._may_run_again(own, loops, block)
            reached |= self._check_points(own, bound, conditions, again=again)
        return reached

    def _may_run_again(self, names: Iterable[str], loops: Sequence[Loop], block: Block) -> bool:
        """Check whether a block has the same effect in each iteration of some loops.

        The block must start anew each time, and must not read its own results.
        """
        stores = [each for each in (*block.init, *block.body) if isinstance(each, Store)]
        written = {store.buffer.name for store in stores}
        values = [each.value for each in (*block.init, *block.body) if isinstance(each, (Store, Let))]
        read = {buffer_name(node) for value in values for node in parts_within(value)}
        if written.isdisjoint(read):
            return not any(axis.kind == REDUCE for axis in block.axes)
        order = [loop.name for loop in loops]
        steps = [axis.binding for axis in block.axes if axis.kind == REDUCE]
        first = min((order.index(name) for name in names_within(*steps) if name in order), default=0)
        return bool(block.init) and all(order.index(name) < first for name in names)

    def _check_points(
        self,
        extents: Mapping[str, int],
        axes: Sequence[tuple[BlockAxis, int]],
        conditions: Sequence[ast.expr],
        again: bool,
    ) -> dict[str, int]:
        """Check the points of some variables, with all loops that these variables depend on."""
        at = {name: make_variable(name, max(extent - 1, 0)) for name, extent in extents.items()}
        bindings = [self._indices.size(axis.binding, at) for axis, _ in axes]
        guards = [self._indices.guards(condition, at) for condition in conditions]
        indices = tuple(index for index in bindings if index is not None)
        if len(indices) < len(axes) or None in guards:
            raise Unstructured("a binding that is no arithmetic of loops' variables")
        try:
            points = RelationPoints(Relation(extents, indices, sum(filter(None, guards), ())), extents)
        except TooMany:
            raise Unstructured("bindings of many points") from None
        place: Size = 0
        reached: dict[str, int] = {}
        for (axis, size), index in zip(axes, indices, strict=True):
            low, high = points.reach(index) if points.count else (0, -1)
            if low < 0 or high >= size:
                raise Unstructured("a variable leaves its domain")
            if size and not points.count:
                raise Unstructured("a variable has no value")
            reached[axis.name] = high + 1
            place = place * reached[axis.name] + index
        whole = prod(reached.values())
        if points.distinct(place) != whole or not (again or points.count == whole):
            raise Unstructured("bindings do not visit each point once")
        return {axis.name: reached[axis.name] for axis, size in axes if reached[axis.name] < size}

    def _is_one_to_one(self, loops: Sequence[Loop], block: Block, domains: Sequence[Domain]) -> bool:
        """Check whether each variable equals one loop variable and has the same extent."""
        stops = {loop.name: loop.stop for loop in loops}
        bound = []
        for axis, domain in zip(block.axes, domains, strict=True):
            if not isinstance(axis.binding, ast.Name) or axis.binding.id not in stops:
                return False
            bound.append(axis.binding.id)
            stop = stops[axis.binding.id]
            if stop is not domain.size and equal(self._domain_of("", False, stop).dim, domain.dim) is not True:
                return False
            if domain.dim is None:
                return False
        rest = [stop for name, stop in stops.items() if name not in bound]
        return len(set(bound)) == len(bound) and all(self._constant(stop) == 1 for stop in rest)

    # ---- stores and their indices ----

    def _checked(self, nest: Nest) -> Nest:
        """Raise Unstructured unless outputs are written at plain variables, at one index each, and read only there."""
        parallel = [domain.name for domain in nest.domains if not domain.is_reduction]
        places: dict[Buffer, list[str]] = {}
        for store in (each for each in (*nest.init, *nest.body) if isinstance(each, Store)):
            if sorted(name for name, _ in self._variables(store)) != sorted(parallel):
                raise Unstructured("an element is written more than once")
            place = place_of(store.indices)
            if places.setdefault(store.buffer, place) != place:
                raise Unstructured("a buffer is written at several places")
        named = {buffer.name: place for buffer, place in places.items()}
        for statement in (*nest.init, *nest.body):
            if isinstance(statement, (Store, Let)):
                self._check_reads(statement.value, named)
        if any(domain.is_reduction for domain in nest.domains) and not all(map(nest.accumulates, nest.body)):
            raise Unstructured("a later iteration overwrites an earlier one")
        return nest

    def _variables(self, store: Store) -> list[tuple[str, int]]:
        """Return the variables of a store's indices. A dimension of size 1 has none, unless no dimension has one."""
        at = [
            self._variable(index)
            for index, dim in zip(store.indices, store.buffer.dims, strict=True)
            if dim != 1 or self._constant(index) != 0
        ]
        if store.indices and not at:
            raise Unstructured("one element alone")
        return at

    def _variable(self, index: ast.expr) -> tuple[str, int]:
        """Return the variable and the offset of an index such as `i` or `i + 4`."""
        if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
            for one, other in ((index.left, index.right), (index.right, index.left)):
                offset = self._constant(other)
                if isinstance(one, ast.Name) and isinstance(offset, int) and offset >= 0:
                    return one.id, offset
        if isinstance(index, ast.Name):
            return index.id, 0
        raise Unstructured("an index that is no variable")

    @staticmethod
    def _check_reads(value: ast.expr, places: Mapping[str, list[str]]) -> None:
        for node in parts_within(value):
            if isinstance(node, ast.Subscript) and (name := buffer_name(node)) in places:
                if place_of(indices_of(node)) != places[name]:
                    raise Unstructured("what is written is read at other places")
            elif type(node) is ast.Call and "call_" in getattr(node.func, "attr", ""):
                raise Unstructured("a call of a function that is not ours")


def _apart(loops: Sequence[Loop], block: Block) -> list[tuple[set[str], list[BlockAxis], list[ast.expr]]]:
    """Group the variables with the loops that they depend on.

    Variables that share loops or a condition are one group.
    """
    names = {loop.name for loop in loops}
    held: list[tuple[set[str], list[BlockAxis], list[ast.expr]]] = [({loop.name}, [], []) for loop in loops]
    parts: list[tuple[ast.expr, list[BlockAxis], list[ast.expr]]] = [
        (axis.binding, [axis], []) for axis in block.axes
    ] + [(node, [], [node]) for node in block.where]
    for node, axes, conditions in parts:
        used = names_within(node) & names
        near = [texts for texts in held if texts[0] & used]
        held = [texts for texts in held if not texts[0] & used]
        held.append((
            set[str]().union(*(texts[0] for texts in near)),
            [*(axis for texts in near for axis in texts[1]), *axes],
            [*(condition for texts in near for condition in texts[2]), *conditions],
        ))  # fmt: skip
    return held
