# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Effects of a tensor program on its buffers (pure outputs, or inputs and outputs), and accesses out of bounds.

Accesses that are proven in bounds need no check, and accesses that are proven out of bounds are errors.
Unknown sizes are tried: small sizes, and sizes above all numbers in the program. If there are too many points to visit,
arithmetic decides, or the buffer counts as input and output.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from math import prod

from ...dialects.core.relation import RelationPoints, TooMany
from ...dialects.core.symbols_expr import Dim, Size, SymbolError, SymExpr
from .accesses import ElementAccess, ProgramAccesses, visited
from .annotations import Annotations
from .common.source import Source
from .program import Buffer, Program

#: Elements of larger buffers are not visited one by one.
MOST_ELEMENTS = 1 << 22
#: Larger numbers in a program are not taken for sizes that tiles and guards depend on.
MOST_TRIED = 128


class Effect(Enum):
    """Effect of a program on the previous contents of a buffer that the program writes to."""

    #: The program writes all elements, each before it reads it.
    REPLACES = "replaces"
    #: Some elements may keep their previous values.
    KEEPS = "keeps"
    #: The program reads an element before it writes it.
    READS = "reads"


def effect_on(buffer: Buffer, accesses: ProgramAccesses) -> Effect:
    """Return the effect on a parameter that the program writes to."""
    if is_written_first([access for access in accesses.of_sizes({}) if access.buffer is buffer], buffer.dims):
        return Effect.REPLACES
    found = Effect.REPLACES
    for sizes in tried_sizes(accesses.program, accesses.annotations):
        mine = [access for access in accesses.of_sizes(sizes) if access.buffer is buffer]
        shape = shape_of(buffer, sizes)
        try:
            effect = Effect.KEEPS if shape is None else _effect(shape, mine)
        except (TooMany, SymbolError):
            effect = Effect.REPLACES if shape is not None and is_written_first(mine, shape) else Effect.KEEPS
        if effect is Effect.READS:
            return effect
        found = effect if found is Effect.REPLACES else found
    return found


def is_written_first(accesses: Sequence[ElementAccess], shape: Sequence[Dim]) -> bool:
    """Check whether the accesses to a buffer are proven to write each element, and to read none before.

    The proof holds for any number of points. An element must be written in the same step of all loops that reads it.
    """
    written: list[ElementAccess] = []
    covering: Size | None = None
    for access in accesses:
        if covering is not None and covering != access.times[0]:
            return True  # later statements only read written elements
        if access.is_store:
            written += [access]
            covering = access.times[0] if access.is_sure and access.relation.covers(shape) else covering
        elif not any(store.precedes(access) for store in written):
            return False
    return covering is not None


def shape_of(buffer: Buffer, sizes: Mapping[str, int]) -> list[int] | None:
    """Return the shape of a buffer for known sizes, or None if it is dynamic."""
    try:
        shape = [dim.evaluate(sizes) if isinstance(dim, SymExpr) else dim for dim in buffer.dims]
    except SymbolError:
        return None
    known = [max(size, 0) for size in shape if size is not None]
    return known if len(known) == len(shape) else None


def tried_sizes(program: Program, annotations: Annotations) -> Iterator[dict[str, int]]:
    """Yield sizes for the symbols: all different, then all equal to one.

    Without symbols, yield one empty dictionary.
    """
    names = list(annotations.symbols)
    numbers = [node.value for node in ast.walk(program.node) if isinstance(node, ast.Constant)]
    largest = max([number for number in numbers if type(number) is int and number <= MOST_TRIED], default=0)
    for start, step in ((2, 1), (1, 0), (largest + 1, 1)):
        yield {name: start + step * position for position, name in enumerate(names)}
        if not names:
            return


def _effect(shape: Sequence[int], accesses: Sequence[ElementAccess]) -> Effect:
    """Return the effect of accesses on a buffer of known shape. Raises TooMany."""
    import numpy

    if prod(shape) > MOST_ELEMENTS:
        raise TooMany
    points = visited(accesses, shape)
    never = numpy.iinfo(numpy.int64).max
    written = numpy.full(prod(shape), never)
    #: Times of stores that may not happen: at known elements, and at unknown ones.
    maybe, anywhere = written.copy(), never
    for access, places, times in points:
        if not access.is_store:
            continue
        if places is None:
            anywhere = min(anywhere, int(times.min()))
            continue
        numpy.minimum.at(maybe, places, times)
        if access.is_sure:
            numpy.minimum.at(written, places, times)
    maybe = numpy.minimum(maybe, anywhere)
    last = written.max(initial=-1)
    effect = Effect.REPLACES if last != never else Effect.KEEPS
    for access, places, times in points:
        if access.is_store:
            continue
        if places is None:
            effect = Effect.KEEPS if int(times.min()) <= last else effect
        elif (times <= written[places]).any():
            if access.is_sure and (times <= maybe[places]).any():
                return Effect.READS
            effect = Effect.KEEPS
    return effect


# ---- bounds ----


def elements_inside(accesses: ProgramAccesses) -> set[ast.AST]:
    """Return the subscripts, and the nodes of the store statements, that are in bounds. Raises ScriptError."""
    source = accesses.annotations.names.source
    return {access.node for access in accesses.of_sizes({}) if access.is_placed and _is_inside(access, source)}


def _is_inside(access: ElementAccess, source: Source) -> bool:
    """Check whether an access is in bounds by its ranges or, in a buffer of static sizes, at each point.

    Raises ScriptError if the access is out of bounds at a point.
    """
    relation, dims = access.relation, [dim for dim in access.buffer.dims if isinstance(dim, int)]
    if relation.is_inside(access.buffer.dims):
        return True
    if len(dims) < len(access.buffer.dims):
        return False
    try:
        for axis, (index, dim) in enumerate(zip(relation.indices, dims, strict=True)):
            points = RelationPoints(relation.along(axis))
            low, high = points.reach(index) if points.count else (0, -1)
            if low < 0 or high >= dim:
                if access.is_sure and points.is_exact and RelationPoints(relation).count:
                    raise source.problem(access.node, outside(access.buffer, axis, low, high))
                return False
    except TooMany:
        return False
    return True


def outside(buffer: Buffer, axis: int, low: int | None, high: int | None) -> str:
    """Return the error message for an index that is out of bounds."""
    reach = f"goes from {low} to {high}" if low != high else f"is {low}"
    return f"'{buffer.name}' has {buffer.dims[axis]} elements along dimension {axis}, but the index {reach}"
