# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Split reductions: long ones to few results are partial reductions at first, which a second kernel combines.

How many parts there are depends on sizes alone: results are the same at each run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.affine import compose, identity
from ....bindings.ir import AffineExpr, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operation_before
from ....emit import linalg, memrefs
from ....emit.combiner import combiners
from ....emit.generic import GenericOp
from ....emit.linalg import PARALLEL, REDUCTION, product
from ....emit.loops import for_range
from ....emit.numbers import Number, Size, as_index, maximum, minimum
from .points import Points
from .reduce import is_combined


@dataclass(frozen=True)
class _SplitKind:
    """Which reductions are worth two launches: how many steps, for fewer results than `results`."""

    results: int
    steps: int
    #: Of a part, at least; and all parts of all results, at most.
    steps_of_part: int
    parts_of_all: int


#: A block of threads for each part, of contiguous elements; a thread for each.
_OF_BLOCKS, _OF_THREADS = _SplitKind(128, 1 << 13, 1 << 12, 256), _SplitKind(1 << 15, 1 << 8, 64, 1 << 16)
#: Parts of one result.
_MOST_PARTS = 512


@dataclass(frozen=True)
class InParts:
    """An operation as two, by the memory between them."""

    first: Operation
    second: Operation
    between: list[Value]
    by_rows: bool


def in_parts(op: Operation) -> InParts | None:
    """The operation in parts, in its place; None where it stays as it is."""
    points = Points(op)
    by_rows, parts = points.reduces_rows(), count_of_parts(points)
    if parts is None:
        return None
    with op.location, ir.InsertionPoint(op):
        sizes = [points.size(dim) for dim in points.parallels]
        shape = [*sizes, parts]
        between = [memrefs.allocate(shape, each.type.element_type) for each in points.outputs]
        # First what reads the operation's body, which then moves.
        second = _together(points, between)
        with ir.InsertionPoint(second):
            first = _apart(points, between)
    op.erase()
    return InParts(first, second, between, by_rows)


def count_of_parts(points: Points) -> Size | None:
    """How many; a size computed at the insertion point where dynamic."""
    if not is_combined(points):
        return None
    kind = _OF_BLOCKS if points.reduces_rows() else _OF_THREADS
    results, steps = points.known_count(points.parallels), points.known_count(points.reductions)
    if results is None or not 0 < results < kind.results:
        return None
    most = min(math.ceil(kind.parts_of_all / results), _MOST_PARTS)
    if steps is not None:
        return min(math.ceil(steps / kind.steps_of_part), most) if steps >= kind.steps else None
    with points.operation.location, ir.InsertionPoint(points.operation):
        open_steps = as_index(product([points.size(dim) for dim in points.reductions]))
        wanted = (open_steps + kind.steps_of_part - 1).shift_right_unsigned(kind.steps_of_part.bit_length() - 1)
        return maximum(minimum(wanted, most), 1)


def _apart(points: Points, between: list[Value]) -> Operation:
    """The operation with a loop for the parts behind its own; it says what all of them together would be."""
    places = [ir.AffineDimExpr.get(dim) for dim in (*points.parallels, len(points.kinds))]
    return with_loop(points, [places] * len(between), between)


def with_loop(generic: GenericOp, places: Sequence[Sequence[AffineExpr]], outputs: Sequence[Value]) -> Operation:
    """The operation with one more loop, for parts, behind its own, and other outputs, where their elements are at
    `places`; its body moves there."""
    op, parallel = generic.operation, ir.Attribute.parse(f"#linalg.iterator_type<{PARALLEL}>")
    results = [*(map_.results for map_ in generic.maps[: generic.input_count]), *places]
    maps = [ir.AffineMap.get(len(generic.kinds) + 1, 0, list(each)) for each in results]
    made = ir.Operation.create(
        "linalg.generic",
        operands=[*generic.inputs, *outputs],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
            "iterator_types": ir.ArrayAttr.get([*op.attributes["iterator_types"], parallel]),
            "operandSegmentSizes": op.attributes["operandSegmentSizes"],
        },
        regions=1,
    )
    generic.block.append_to(made.regions[0])
    return made


def _together(points: Points, between: list[Value]) -> Operation:
    """What puts the parts together with what the outputs hold."""
    kept, combining = len(points.parallels), combiners(points)
    places = {dim: place for place, dim in enumerate(points.parallels)}
    own = linalg.select_dims(kept + 1, list(map(places.get, range(len(points.kinds)))))
    maps = [*[identity(kept + 1)] * len(between), *(compose(map_, own) for map_ in points.output_maps)]

    def body(*scalars: Value) -> list[Value]:
        pairs = zip(combining, scalars[: len(between)], scalars[len(between) :], strict=True)
        return [each.apply(part, before) for each, part, before in pairs]

    linalg.generic(between, points.outputs, maps, [*[PARALLEL] * kept, REDUCTION], body)
    return operation_before(ir.InsertionPoint.current.ref_operation.operation)


def reduce_part(points: Points, thread: Number) -> None:
    """Of points made apart: one part, by one thread."""
    *parallels, part_dim = points.parallels
    parts = as_index(points.size(part_dim))
    results = as_index(product([points.size(dim) for dim in parallels]))
    # Adjacent results are of adjacent threads.
    indices = {**points.at(thread % results, parallels), part_dim: (thread // results).value}
    count = product([points.size(dim) for dim in points.reductions])

    def step(place: Value, *before: Value) -> list[Value]:
        return points.body({**indices, **points.at(place, points.reductions)}, before)

    first = [each.neutral() for each in combiners(points)]
    points.store(for_range(indices[part_dim], count, step, *first, step=parts), indices)
