# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop distribution: loops around several blocks as loops around each of them, where no dependence forbids it.

Then all of a block runs before the next one begins. It must not have met a place that a later block worked on before,
unless both only read there. That is plain where each buffer is the program's own, and made by one block, before others
read it; else it is looked at for all points, in the order in which the program has them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ...dialects.core.symbols import SymExpr
from .accesses import Accesses, TooMany, expressions_of
from .annotations import Annotations
from .effects import MOST_ELEMENTS, MOST_TRIED, in_a_row, places_of, tried_sizes
from .nest_reader import Unstructured
from .nested_blocks import starting
from .program import REDUCE, Allocate, Block, Buffer, For, Let, Loop, Program, Statement, Store, every, parts_within


def distributed(statement: Statement, program: Program, annotations: Annotations) -> list[Statement]:
    """The loops around each of the blocks in a statement, in their order. Raises Unstructured."""
    shared: set[str] = set()
    parts = _parts(statement, shared)
    if len(parts) < 2:
        raise Unstructured("no loop around several blocks")
    buffers = {id(each.buffer): each.buffer for each in every(parts) if isinstance(each, Store)}
    own = {id(each) for each in every(parts)}
    # What these hold before is seen: it is the caller's, or was made before.
    given = {*map(id, program.parameters)}
    given |= {id(each.buffer) for each in every(program.body) if isinstance(each, Store) and id(each) not in own}
    made_once = [key for key, each in buffers.items() if _is_made_once(each, parts, key in given)]
    buffers = {key: each for key, each in buffers.items() if key not in made_once}
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
    if isinstance(statement, Block) and statement.is_around:
        starts = [starting(statement, part) for each in statement.init for part in _parts(each, shared)]
        inner = [part for each in _inside(statement) for part in _parts(each, shared)]
        return [*starts, *(replace(statement, init=(), body=(part,)) for part in inner)]
    if not isinstance(statement, For):
        if not isinstance(statement, (Block, Store)):
            raise Unstructured("not only loops and blocks")
        return [statement]
    if all(isinstance(each, (Let, Store)) for each in statement.body):
        return [statement]
    inner = [part for each in _inside(statement) for part in _parts(each, shared)]
    if len(inner) > 1:
        shared.update(loop.name for loop in statement.loops)
    return [For(statement.node, statement.loops, (part,)) for part in inner]


def _inside(statement: For | Block) -> list[Statement]:
    return [each for each in statement.body if not isinstance(each, Allocate)]


def _is_made_once(buffer: Buffer, parts: Sequence[Statement], is_given: bool) -> bool:
    """Whether one part makes all that a buffer holds, however often it runs, and only those behind it read that; none,
    where it held something before."""
    makers = [number for number, part in enumerate(parts) if _stores(part, buffer)]
    readers = [number for number, part in enumerate(parts) if _reads(part, buffer) and [number] != makers]
    if len(makers) != 1 or any(is_given or number < makers[0] for number in readers):
        return False
    if not readers:
        return True
    blocks = [each for each in every([parts[makers[0]]]) if isinstance(each, Block) and _stores(each, buffer)]
    if not blocks:
        return not _reads(parts[makers[0]], buffer)
    # Sums are whole before others read them: their loops are around no reader.
    own = _loops_around(parts[makers[0]])
    shared = {loop.name for number in readers for loop in _loops_around(parts[number]) if loop in own}
    steps = [axis.binding for block in blocks for axis in block.axes if axis.kind == REDUCE]
    used = {node.id for step in steps for node in parts_within(step) if isinstance(node, ast.Name)}
    return used.isdisjoint(shared) and (bool(blocks[-1].init) or not _reads(blocks[-1], buffer))


def _loops_around(part: Statement) -> list[Loop]:
    """The loops of a part, which others may have, too."""
    found: list[Loop] = []
    while isinstance(part, (For, Block)) and len(part.body) == 1:
        found += part.loops if isinstance(part, For) else ()
        part = part.body[0]
    return [*found, *part.loops] if isinstance(part, For) else found


def _stores(part: Statement, buffer: Buffer) -> bool:
    return any(isinstance(each, Store) and each.buffer is buffer for each in every([part]))


def _reads(part: Statement, buffer: Buffer) -> bool:
    bases = [node.value for node in _computed(part) if isinstance(node, ast.Subscript)]
    return any(isinstance(base, ast.Name) and base.id == buffer.name for base in bases)


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
