# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop distribution: a loop around several blocks becomes one loop per block, where no dependence forbids it.

After distribution a block runs completely before the next block begins. The block must not access an element after a
later block does, unless both only read the element. No analysis is needed where each buffer is private to the program
and one block writes the buffer before others read it. For all other buffers the accesses at all points are compared in
program order.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ...dialects.core.relation import TooMany
from ...dialects.core.symbols_expr import SymbolError
from ...dialects.script.syntax import buffer_name, names_within, parts_within
from .accesses import ProgramAccesses, visited
from .annotations import Annotations
from .effects import MOST_ELEMENTS, MOST_TRIED, shape_of, tried_sizes
from .nest_reader import Unstructured
from .nested_blocks import starting
from .program import REDUCE, Allocate, Block, Buffer, For, Let, Loop, Program, Statement, Store, every, expressions_of


def distributed(statement: Statement, program: Program, annotations: Annotations) -> list[Statement]:
    """Return the loops around each block of a statement, in order. Raises Unstructured."""
    shared: set[str] = set()
    parts = _parts(statement, shared)
    if len(parts) < 2:
        raise Unstructured("no loop around several blocks")
    buffers = {id(each.buffer): each.buffer for each in every(parts) if isinstance(each, Store)}
    own = {id(each) for each in every(parts)}
    # Previous contents of these buffers are visible: they come from the caller or from earlier statements.
    given = {*map(id, program.parameters)}
    given |= {id(each.buffer) for each in every(program.body) if isinstance(each, Store) and id(each) not in own}
    made_once = [key for key, each in buffers.items() if _is_made_once(each, parts, key in given)]
    buffers = {key: each for key, each in buffers.items() if key not in made_once}
    if annotations.symbols and any(_is_large(node, annotations) for part in parts for node in _computed(part)):
        raise Unstructured("places that sizes which are tried say nothing about")
    accesses = ProgramAccesses(program, annotations, [statement])
    for sizes in tried_sizes(program, annotations):
        for buffer in buffers.values():
            if not _keeps_order(buffer, accesses, parts, shared, sizes):
                raise Unstructured("a block works on what a later one has worked on in the same loop")
    return parts


def _parts(statement: Statement, shared: set[str]) -> list[Statement]:
    """Split a statement into loops around one block or some stores each. `shared` receives the names of split loops."""
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
    """Check whether one part writes all of a buffer's contents, and only later parts read them.

    A buffer with previous contents must not be read at all.
    """
    makers = [number for number, part in enumerate(parts) if _stores(part, buffer)]
    readers = [number for number, part in enumerate(parts) if _reads(part, buffer) and [number] != makers]
    if len(makers) != 1 or any(is_given or number < makers[0] for number in readers):
        return False
    if not readers:
        return True
    blocks = [each for each in every([parts[makers[0]]]) if isinstance(each, Block) and _stores(each, buffer)]
    if not blocks:
        return not _reads(parts[makers[0]], buffer)
    # Sums are complete before others read them: their loops enclose no reader.
    own = _loops_around(parts[makers[0]])
    shared = {loop.name for number in readers for loop in _loops_around(parts[number]) if loop in own}
    steps = [axis.binding for block in blocks for axis in block.axes if axis.kind == REDUCE]
    return names_within(*steps).isdisjoint(shared) and (bool(blocks[-1].init) or not _reads(blocks[-1], buffer))


def _loops_around(part: Statement) -> list[Loop]:
    """Return the loops of a part, which other parts may share."""
    loops: list[Loop] = []
    while isinstance(part, (For, Block)) and len(part.body) == 1:
        loops += part.loops if isinstance(part, For) else ()
        part = part.body[0]
    return [*loops, *part.loops] if isinstance(part, For) else loops


def _stores(part: Statement, buffer: Buffer) -> bool:
    return any(isinstance(each, Store) and each.buffer is buffer for each in every([part]))


def _reads(part: Statement, buffer: Buffer) -> bool:
    return buffer.name in map(buffer_name, _computed(part))


def _computed(part: Statement) -> list[ast.expr]:
    """Return all expressions of a part, without the bounds of its loops."""
    inside = [each for each in every([part]) if not isinstance(each, For)]
    return [node for each in inside for top in expressions_of(each) for node in parts_within(top)]


def _is_large(node: ast.expr, annotations: Annotations) -> bool:
    value = annotations.names.found(node) if isinstance(node, (ast.Constant, ast.Name)) else None
    return isinstance(value, int) and abs(value) > MOST_TRIED


def _keeps_order(
    buffer: Buffer, accesses: ProgramAccesses, parts: Sequence[Statement], shared: set[str], sizes: Mapping[str, int]
) -> bool:
    """Check that no part accesses an element after a later part, where one of the accesses is a store."""
    import numpy

    shape, owners = shape_of(buffer, sizes), _owners(parts)
    if shape is None or prod(shape) > MOST_ELEMENTS:
        return False
    try:
        points = visited([access for access in accesses.of_sizes(sizes) if access.buffer is buffer], shape, shared)
    except (TooMany, SymbolError):
        return False
    if any(places is None or id(access.node) not in owners for access, places, _ in points):
        return False
    #: Times at which later parts first store to an element, and first access it.
    stored = numpy.full(prod(shape), numpy.iinfo(numpy.int64).max)
    touched = stored.copy()
    for number in range(len(parts) - 1, -1, -1):
        mine = [part for part in points if owners[id(part.access.node)] == number]
        if any((times > (touched if access.is_store else stored)[places]).any() for access, places, times in mine):
            return False
        for access, places, times in mine:
            numpy.minimum.at(touched, places, times)  # type: ignore[arg-type]
            if access.is_store:
                numpy.minimum.at(stored, places, times)  # type: ignore[arg-type]
    return True


def _owners(parts: Sequence[Statement]) -> dict[int, int]:
    """Map syntax nodes to the number of the part that contains them. Nodes of several parts are left out."""
    owners: dict[int, int] = {}
    several: set[int] = set()
    for number, part in enumerate(parts):
        nodes = [each.node for each in every([part]) if not isinstance(each, For)]
        for node in (*nodes, *_computed(part)):
            if owners.setdefault(id(node), number) != number:
                several.add(id(node))
    return {node: number for node, number in owners.items() if node not in several}
