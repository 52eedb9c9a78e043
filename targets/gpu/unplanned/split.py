# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Split reductions: a long reduction to few results becomes partial reductions and a second kernel that combines them.

The number of parts depends on sizes only, so that results are reproducible.
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
    """Limits for splitting: fewer than `results` results, and at least `steps` steps."""

    results: int
    steps: int
    #: Minimum steps per part, and most parts of all results together.
    steps_of_part: int
    parts_of_all: int


#: A block of threads for each part of contiguous elements, or a thread for each part.
_OF_BLOCKS, _OF_THREADS = _SplitKind(128, 1 << 13, 1 << 12, 256), _SplitKind(1 << 15, 1 << 8, 64, 1 << 16)
#: Most parts per result.
_MOST_PARTS = 512


@dataclass(frozen=True)
class InParts:
    """Reduction that is split into two operations, with the memory between them."""

    first: Operation
    second: Operation
    between: list[Value]
    by_rows: bool


def in_parts(op: Operation) -> InParts | None:
    """Split an operation into parts, in its place. Return None if it stays whole."""
    points = Points(op)
    by_rows, parts = points.reduces_rows(), count_of_parts(points)
    if parts is None:
        return None
    with op.location, ir.InsertionPoint(op):
        sizes = [points.size(dim) for dim in points.parallels]
        shape = [*sizes, parts]
        between = [memrefs.allocate(shape, output.type.element_type) for output in points.outputs]
        # Build the combination first, because it reads the operation's body, which moves afterwards.
        second = _together(points, between)
        with ir.InsertionPoint(second):
            first = _apart(points, between)
    op.erase()
    return InParts(first, second, between, by_rows)


def count_of_parts(points: Points) -> Size | None:
    """Return the number of parts, emitted at the insertion point if dynamic, or None for no split."""
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
    """Clone the operation with an additional loop over the parts. Its indices refer to the whole reduction."""
    places = [ir.AffineDimExpr.get(dim) for dim in (*points.parallels, len(points.kinds))]
    return with_loop(points, [places] * len(between), between)


def with_loop(generic: GenericOp, places: Sequence[Sequence[AffineExpr]], outputs: Sequence[Value]) -> Operation:
    """Clone an operation with an additional innermost loop over parts, and with other outputs.

    The outputs are indexed by `places`. The body moves to the new operation.
    """
    op, parallel = generic.operation, ir.Attribute.parse(f"#linalg.iterator_type<{PARALLEL}>")
    results = [*(map_.results for map_ in generic.maps[: generic.input_count]), *places]
    maps = [ir.AffineMap.get(len(generic.kinds) + 1, 0, list(result)) for result in results]
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
    """Emit the combination of the parts with the outputs' contents."""
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
    """Emit the reduction of one part by one thread."""
    *parallels, part_dim = points.parallels
    parts = as_index(points.size(part_dim))
    results = as_index(product([points.size(dim) for dim in parallels]))
    # Adjacent threads compute adjacent results.
    indices = {**points.at(thread % results, parallels), part_dim: (thread // results).value}
    count = product([points.size(dim) for dim in points.reductions])

    def step(place: Value, *before: Value) -> list[Value]:
        return points.body({**indices, **points.at(place, points.reductions)}, before)

    first = [combiner.neutral() for combiner in combiners(points)]
    points.store(for_range(indices[part_dim], count, step, *first, step=parts), indices)
