# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Effects of a tensor program on its buffers: pure outputs, or inputs and outputs.

Unknown sizes are tried: small sizes, and sizes above all numbers in the program. If there are too many points to visit,
arithmetic decides, or the buffer counts as input and output.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from math import prod
from typing import Any

from ...dialects.core.symbols import SymExpr, equal
from .accesses import Accesses, StatementAccess, TooMany
from .annotations import Annotations
from .coverage import is_written_first
from .nest_reader import Nest
from .points import Numbers
from .program import Allocate, Buffer, Program, Store

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


def effect_on(buffer: Buffer, program: Program, annotations: Annotations) -> Effect:
    """Return the effect on a parameter that the program writes to."""
    found = Effect.REPLACES
    for sizes in tried_sizes(program, annotations):
        try:
            shape = [dim.evaluate(sizes) if isinstance(dim, SymExpr) else dim for dim in buffer.dims]
            effect = _effect(shape, Accesses(annotations.names, program.body, buffer, sizes))
        except TooMany:
            is_whole = is_written_first(annotations.names, program.body, buffer, shape)
            effect = Effect.REPLACES if is_whole else Effect.KEEPS
        except ArithmeticError:
            effect = Effect.KEEPS
        if effect is Effect.READS:
            return effect
        found = effect if found is Effect.REPLACES else found
    return found


def is_replaced(buffer: Buffer, steps: Sequence[Nest | Allocate]) -> bool:
    """Check whether nests write all of a buffer before they read it, for any sizes.

    One nest must write all elements.
    """
    for nest in (step for step in steps if isinstance(step, Nest)):
        stores = [each for each in (*nest.init, *nest.body) if isinstance(each, Store) and each.buffer is buffer]
        if not stores:
            if nest.reads(buffer):
                return False
            continue
        first = stores[0]
        if nest.reads(buffer) and (not nest.init or first not in nest.init):
            return False
        dims = {domain.name: domain.dim for domain in nest.domains}
        sizes = [dims.get(index.id) if isinstance(index, ast.Name) else 1 for index in first.indices]
        return all(size is not None and equal(size, dim) is True for size, dim in zip(sizes, buffer.dims, strict=True))
    return False


def tried_sizes(program: Program, annotations: Annotations) -> Iterator[dict[str, int]]:
    """Yield sizes for the symbols: all different, then all equal to one.

    Without symbols, yield one empty dictionary.
    """
    names = list(annotations.symbols)
    numbers = [
        node.value for node in ast.walk(program.node) if isinstance(node, ast.Constant) and type(node.value) is int
    ]
    largest = max([number for number in numbers if number <= MOST_TRIED], default=0)
    for start, step in ((2, 1), (1, 0), (largest + 1, 1)):
        yield {name: start + step * position for position, name in enumerate(names)}
        if not names:
            return


def _effect(shape: Sequence[int | None], accesses: Iterable[StatementAccess]) -> Effect:
    """Return the effect of accesses on a buffer of known shape. Raises TooMany."""
    import numpy

    if None in shape or prod(number or 0 for number in shape) > MOST_ELEMENTS:
        raise TooMany
    statement_accesses = list(accesses)
    times = in_a_row([statement_access.times for statement_access in statement_accesses])
    never = numpy.iinfo(numpy.int64).max
    written = numpy.full(prod(number or 0 for number in shape), never)
    #: Times of stores that may not happen: at known elements, and at unknown ones.
    maybe, anywhere = written.copy(), never
    for access, time in zip(statement_accesses, times, strict=True):
        places = places_of(access, shape)
        if not access.is_store or not access.points:
            continue
        if places is None:
            anywhere = min(anywhere, int(numpy.min(time)))
            continue
        numpy.minimum.at(maybe, places, time)
        if access.is_sure:
            numpy.minimum.at(written, places, time)
    maybe = numpy.minimum(maybe, anywhere)
    last = written.max(initial=-1)
    effect = Effect.REPLACES if last != never else Effect.KEEPS
    for access, time in zip(statement_accesses, times, strict=True):
        if access.is_store or not access.points:
            continue
        if (places := places_of(access, shape)) is None:
            effect = Effect.KEEPS if int(numpy.min(time)) <= last else effect
        elif (time <= written[places]).any():
            if access.is_sure and (time <= maybe[places]).any():
                return Effect.READS
            effect = Effect.KEEPS
    return effect


def places_of(access: StatementAccess, shape: Sequence[int | None]) -> Any:
    """Return the linear index of the element at each point, or None if it is dynamic or out of bounds."""
    import numpy

    if access.places is None:
        return None
    place = numpy.zeros(access.points, numpy.int64)
    for index, size in zip(access.places, shape, strict=True):
        assert size is not None
        if numpy.any(numpy.less(index, 0) | numpy.greater_equal(index, size)):
            return None
        place = place * size + index
    return place


def in_a_row(columns: Sequence[Sequence[Numbers]]) -> list[Numbers]:
    """Combine the time columns of each access into one number that has the same order. Raises TooMany."""
    import numpy

    sizes = [1] * max([len(each) for each in columns], default=0)
    for numbers in columns:
        for level, column in enumerate(numbers):
            sizes[level] = max(sizes[level], int(numpy.max(column, initial=0)) + 1)
    if prod(sizes) >= 1 << 62:
        raise TooMany
    found = []
    for held in columns:
        time: Numbers = 0
        for level, size in enumerate(sizes):
            time = time * size + (held[level] if level < len(held) else 0)
        found.append(time)
    return found
