# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Effects of a tensor program on its buffers: which are pure outputs, which are inputs and outputs.

Sizes that are not known are tried: small ones, and ones beyond all numbers in the program. Where there are more points
than can be looked at, it is shown by arithmetic or taken to be in and out.
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

#: Buffers of more elements are not looked at one by one.
MOST_ELEMENTS = 1 << 22
#: Numbers in a program that are larger are no sizes that tiles and guards depend on.
MOST_TRIED = 128


class Effect(Enum):
    """What a program does with what a buffer held before that it writes to."""

    #: All of it is written, each element before it is read.
    REPLACES = "replaces"
    #: Some is left as it was, or nothing here could tell.
    KEEPS = "keeps"
    #: An element is read that nothing has written.
    READS = "reads"


def effect_on(buffer: Buffer, program: Program, annotations: Annotations) -> Effect:
    """Of a parameter that the program writes to."""
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
    """Whether nests write all of a buffer before they read it, whatever its sizes: where one of them does at once."""
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
    """Sizes for the symbols, all different and all one; nothing where there are none."""
    names = list(annotations.symbols)
    numbers = [
        each.value for each in ast.walk(program.node) if isinstance(each, ast.Constant) and type(each.value) is int
    ]
    largest = max([each for each in numbers if each <= MOST_TRIED], default=0)
    for start, step in ((2, 1), (1, 0), (largest + 1, 1)):
        yield {name: start + step * position for position, name in enumerate(names)}
        if not names:
            return


def _effect(shape: Sequence[int | None], accesses: Iterable[StatementAccess]) -> Effect:
    """Raises TooMany."""
    import numpy

    if None in shape or prod(each or 0 for each in shape) > MOST_ELEMENTS:
        raise TooMany
    found = list(accesses)
    times = in_a_row([each.times for each in found])
    never = numpy.iinfo(numpy.int64).max
    written = numpy.full(prod(each or 0 for each in shape), never)
    #: Where a store only may be, at an unknown place maybe.
    maybe, anywhere = written.copy(), never
    for access, time in zip(found, times, strict=True):
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
    for access, time in zip(found, times, strict=True):
        if access.is_store or not access.points:
            continue
        places = places_of(access, shape)
        if places is None:
            effect = Effect.KEEPS if int(numpy.min(time)) <= last else effect
        elif (time <= written[places]).any():
            if access.is_sure and (time <= maybe[places]).any():
                return Effect.READS
            effect = Effect.KEEPS
    return effect


def places_of(access: StatementAccess, shape: Sequence[int | None]) -> Any:
    """Each point's element by its number; None where dynamic, or it is none."""
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
    """Each access's times as numbers that are ordered as the columns are. Raises TooMany."""
    import numpy

    depth = max([len(each) for each in columns], default=0)
    sizes = [1] * depth
    for held in columns:
        for level, column in enumerate(held):
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
