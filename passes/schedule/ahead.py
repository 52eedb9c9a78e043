# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Software prefetch: fetches into the cache what is read soon.

Weights: all rows of a product use some columns of them before the next ones' turn. The first rows would wait for them
at the memory's pace, the others need nothing of it: so each step fetches a part of the next columns, for each of its
own reads one of theirs, until all are there.

Rows of an input each of which is read once, one after the other (`stream`): with those of a step come others, so far
behind them that they are there in time. CPUs find out themselves what is read in order, but stop where a page of memory
ends, and while a core computes something else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...bindings.ir import Type, Value
from ...bindings.mlir import i64_attribute, ir
from ...bindings.rewriting import located_error
from ...dialects.core.infos import bit_width
from ...dialects.core.ir_attributes import STREAM
from ...emit.arithmetic import result_of
from ...emit.numbers import Size, as_index, minimum
from ...emit.structured import StructuredOp
from .dots import packed_operand
from .plan import Plan, points_of_step

if TYPE_CHECKING:
    from .vector_step import VectorStep

#: Where more steps than these share weights, the first one's waiting is not worth an instruction in each.
_MOST_STEPS = 64
#: Into the cache that a core has to itself: those of a step are more than the first has room for.
_LOCALITY = 2
#: How far ahead its rows are fetched, and into which cache: the first one has room for a page.
_STREAM_BYTES, _STREAM_LOCALITY = 4096, 3


class Ahead(NamedTuple):
    """The loop whose next step's weights are fetched, and the one whose steps do so in turns, with their number."""

    dim: int
    size: int
    #: Points of a step.
    step: int
    sharing: int
    steps: int | None


def stream(result: Value, operand: int) -> Value:
    """The result of a structured operation that reads each row of an input once."""
    result.owner.attributes[STREAM] = i64_attribute(operand)
    return result


def fetch_ahead(step: VectorStep) -> None:
    """What is read by a step that comes soon."""
    operation = step.nest.op.operation
    if STREAM not in operation.attributes:
        _fetch_weights(step)
        return
    attribute = operation.attributes[STREAM]
    if not isinstance(attribute, ir.IntegerAttr) or not 0 <= attribute.value < step.nest.op.input_count:
        raise located_error(f"attribute '{STREAM}' must be the number of an input, got {attribute}", operation.location)
    _fetch_rows(step, attribute.value)


def _fetch_rows(step: VectorStep, operand: int) -> None:
    """Of an input, as many as this step reads."""
    op, plan, counts = step.nest.op, step.nest.plan, step.state.counts
    rows = [dim for dim in op.dims if dim != plan.vector and op.uses(operand, dim)]
    width = op.shapes[operand][-1]
    if len(rows) != 1 or not op.is_contiguous(operand, plan.vector) or width <= 0:
        return
    distance = _STREAM_BYTES * 8 // (width * bit_width(str(op.element(operand))))
    starts = list(step.state.starts)
    starts[rows[0]] = starts[rows[0]] + max(distance, 1)
    tensor = op.operands[operand].type
    anywhere = ir.StridedLayoutAttr.get_fully_dynamic(tensor.rank)
    type_ = ir.MemRefType.get(tensor.shape, tensor.element_type, anywhere)
    own = [range(count if op.uses(operand, dim) else 1) for dim, count in enumerate(counts)]
    for point in itertools.product(*own):
        _fetch(op.operands[operand], type_, step.access.at(starts).place(operand, point), _STREAM_LOCALITY)


def _fetch_weights(step: VectorStep) -> None:
    """A part of what the next step of a loop around reads of the weights, where there is such a loop."""
    op, plan, state = step.nest.op, step.nest.plan, step.state
    weights = _weights(op, plan, step)
    ahead = None if weights is None else _loops(op, plan, weights)
    if weights is None or ahead is None or state.is_of_zeros:
        return
    if state.counts[ahead.sharing] == 1 < plan.tile.get(ahead.sharing, 1):
        return  # A point of its own computes too little for it: fetching takes as long as reading does.
    starts = list(state.starts)
    starts[ahead.dim] = starts[ahead.dim] + ahead.step
    loops = [dim for dim, count in enumerate(state.counts) if count > 1 and op.uses(weights, dim)]
    reads = math.prod(state.counts[dim] for dim in loops)
    at_once = 1 if ahead.steps is None else math.ceil(reads / ahead.steps)
    turn = state.starts[ahead.sharing] // points_of_step(plan, ahead.sharing) * at_once
    for place in range(at_once):
        number, new = as_index(turn + place), list(starts)
        for dim in loops:
            inner = number % state.counts[dim]
            number = number // state.counts[dim]
            new[dim] = new[dim] + inner * (state.lanes if dim == plan.vector else 1)
        # Behind the last step there is nothing, and that may be of less.
        new[ahead.dim] = minimum(new[ahead.dim], ahead.size - 1)
        _fetch_weight(step, weights, new)


def _weights(op: StructuredOp, plan: Plan, step: VectorStep) -> int | None:
    """The input of known size that is read as vectors, by a sum that stays in registers."""
    packed = packed_operand(plan, step.nest.dots)
    if packed is not None or plan.panel is not None or not plan.carried or plan.vector in op.reductions:
        return packed
    found = [operand for operand in range(op.input_count) if op.uses(operand, plan.vector)]
    is_plain = len(found) == 1 and op.is_contiguous(found[0], plan.vector) and plan.dot is None
    given = op.operands[found[0]] if is_plain else None
    return found[0] if isinstance(given, ir.BlockArgument) and given.type.has_static_shape else None


def _loops(op: StructuredOp, plan: Plan, weights: int) -> Ahead | None:
    """Those of weights that some steps read, and then others. None where that is not worth it."""
    around = plan.order[: len(plan.order) - plan.carried]
    steps = {dim: _steps(op, plan, dim) for dim in around}
    around = tuple(dim for dim in around if steps[dim] != 1)
    changing = [dim for dim in around if op.uses(weights, dim)]
    sharing = around[around.index(changing[-1]) + 1 :] if changing else ()
    known = math.prod(count for dim in sharing if (count := steps[dim]) is not None)
    size = op.sizes[changing[-1]] if sharing else None
    if size is None or known > _MOST_STEPS:
        return None
    longest = max(sharing, key=lambda dim: steps[dim] or _MOST_STEPS)
    return Ahead(changing[-1], size, points_of_step(plan, changing[-1]), longest, steps[longest])


def _steps(op: StructuredOp, plan: Plan, dim: int) -> int | None:
    size = op.sizes[dim]
    return None if size is None else math.ceil(size / points_of_step(plan, dim))


def _fetch_weight(step: VectorStep, weights: int, starts: Sequence[Size]) -> None:
    op, plan, packed = step.nest.op, step.nest.plan, step.nest.packed
    tensor = op.operands[weights] if packed is None else packed
    access, point = step.access.at(starts), (0,) * len(op.dims)
    if plan.panel is not None:
        place = access.packed_place(points_of_step(plan, plan.vector), plan.panel.dim, point)
    else:
        place = access.grouped_place(weights, point)
    _fetch(tensor, ir.MemRefType.get(tensor.type.shape, tensor.type.element_type), place, _LOCALITY)


def _fetch(tensor: Value, type_: Type, place: Sequence[Size], locality: int) -> None:
    memref = result_of("bufferization.to_buffer", [tensor], type_, read_only=ir.UnitAttr.get())
    attributes = {
        "isWrite": ir.BoolAttr.get(False),
        "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), locality),
        "isDataCache": ir.BoolAttr.get(True),
    }
    ir.Operation.create("memref.prefetch", operands=[memref, *map(as_index, place)], attributes=attributes)
