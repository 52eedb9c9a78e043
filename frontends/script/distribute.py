# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop distribution: loops around several blocks as loops around each of them, where no dependence forbids it.

Then all of a block runs before the next one begins. It must not have met a place that a later block worked on before,
unless both only read there. That is looked at for all points, in the order in which the program has them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from math import prod

from ...dialects.core.symbols import SymExpr
from .accesses import Accesses, TooMany, expressions_of
from .annotations import Annotations
from .effects import MOST_ELEMENTS, MOST_TRIED, in_a_row, places_of, tried_sizes
from .nest_reader import Unstructured
from .program import Block, Buffer, For, Let, Program, Statement, Store, every, parts_within


def distributed(statement: Statement, program: Program, annotations: Annotations) -> list[Statement]:
    """The loops around each of the blocks in a statement, in their order. Raises Unstructured."""
    shared: set[str] = set()
    parts = _parts(statement, shared)
    if len(parts) < 2:
        raise Unstructured("no loop around several blocks")
    buffers = {id(each.buffer): each.buffer for each in every(parts) if isinstance(each, Store)}
    if annotations.symbols and any(_is_large(node, annotations) for part in parts for node in _computed(part)):
        raise Unstructured("places that sizes which are tried say nothing about")
    for sizes in tried_sizes(program, annotations):
        for buffer in buffers.values():
            if not _keeps_order(buffer, statement, parts, shared, annotations, sizes):
                raise Unstructured("a block works on what a later one has worked on in the same loop")
    return parts


def _parts(statement: Statement, shared: set[str]) -> list[Statement]:
    """Loops around one block or some stores each; `shared` gets the loops' names that go around several."""
    if isinstance(statement, Block) and statement.is_plain:
        return [part for each in statement.body for part in _parts(each, shared)]
    if not isinstance(statement, For):
        if not isinstance(statement, (Block, Store)):
            raise Unstructured("not only loops and blocks")
        return [statement]
    if all(isinstance(each, (Let, Store)) for each in statement.body):
        return [statement]
    inner = [part for each in statement.body for part in _parts(each, shared)]
    if len(inner) > 1:
        shared.update(loop.name for loop in statement.loops)
    return [For(statement.node, statement.loops, (part,)) for part in inner]


def _computed(part: Statement) -> list[ast.expr]:
    """All that a part computes, but how far loops go."""
    inside = [each for each in every([part]) if not isinstance(each, For)]
    return [node for each in inside for top in expressions_of(each) for node in parts_within(top)]


def _is_large(node: ast.expr, annotations: Annotations) -> bool:
    value = annotations.names.found(node) if isinstance(node, (ast.Constant, ast.Name)) else None
    return isinstance(value, int) and abs(value) > MOST_TRIED


def _keeps_order(
    buffer: Buffer,
    whole: Statement,
    parts: Sequence[Statement],
    shared: set[str],
    annotations: Annotations,
    sizes: Mapping[str, int],
) -> bool:
    """Whether no part works on an element after a later part has, one of them as a store."""
    import numpy

    shape = [dim.evaluate(sizes) if isinstance(dim, SymExpr) else dim for dim in buffer.dims]
    if None in shape or prod(each or 0 for each in shape) > MOST_ELEMENTS:
        return False
    try:
        found = [each for each in Accesses(annotations.names, [whole], buffer, sizes, shared) if each.points]
        times = in_a_row([each.times for each in found])
    except (TooMany, ArithmeticError):
        return False
    owners = _owners(parts)
    if not all(id(each.node) in owners for each in found):
        return False
    count = prod(each or 0 for each in shape)
    #: When later parts begin to store, and to do anything at all.
    stored = numpy.full(count, numpy.iinfo(numpy.int64).max)
    touched = stored.copy()
    for number in range(len(parts) - 1, -1, -1):
        mine = [(each, time) for each, time in zip(found, times, strict=True) if owners[id(each.node)] == number]
        placed = [(each.is_store, places_of(each, shape), time) for each, time in mine]
        if any(places is None for _, places, _ in placed):
            return False
        if any((time > (touched if is_store else stored)[places]).any() for is_store, places, time in placed):
            return False
        for is_store, places, time in placed:
            numpy.minimum.at(touched, places, time)
            if is_store:
                numpy.minimum.at(stored, places, time)
    return True


def _owners(parts: Sequence[Statement]) -> dict[int, int]:
    """The number of the part that a place of the syntax belongs to; none where two have it."""
    owners: dict[int, int] = {}
    several: set[int] = set()
    for number, part in enumerate(parts):
        nodes = [each.node for each in every([part]) if not isinstance(each, For)]
        for node in (*nodes, *_computed(part)):
            if owners.setdefault(id(node), number) != number:
                several.add(id(node))
    return {node: number for node, number in owners.items() if node not in several}
