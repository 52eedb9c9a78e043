# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Software prefetch: fetches data into the cache before it is read.

Weights: all rows of a product use some columns of the weights before the next columns are used. The first rows would
wait for new columns at memory speed, while the others need nothing from memory. So each step prefetches a part of the
next columns, one vector for each of its own reads, until all are fetched.

Blocks of channels: each step of a product reads a few places of all blocks, which are far apart in memory. Hardware
prefetchers do not follow. So each step of a sum also prefetches a place of the block for the next step of the places.

Rows of an input that are read once, in order (`stream`): each step also fetches later rows. Their distance lets them
arrive in time. Hardware prefetchers recognize sequential reads, but stop at the end of a page, and while a core
computes something else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Type, Value
from ....bindings.mlir import i64_attribute, ir
from ....bindings.rewriting import located_error
from ....dialects.core.infos import bit_width
from ....dialects.core.ir_attributes import STREAM
from ....emit.arithmetic import result_of
from ....emit.numbers import Size, as_index, minimum
from ....emit.structured import StructuredOp
from .dots import packed_operand
from .plan import MASKED, Plan, points_of_step
from .vector_step import VectorStep

#: If more steps than these share weights, the stall of the first step does not justify an instruction in each.
_MOST_STEPS = 64
#: Cache level for weights: the cache that a core has to itself. The first level is too small for the weights of a step.
_LOCALITY = 2
#: Prefetch distance of rows, and their cache level: the first level has room for a page.
_STREAM_BYTES, _STREAM_LOCALITY = 4096, 3
#: Cache level for places of blocks of channels, which the next step reads, and the bytes of a cache line.
_PLACE_LOCALITY, _LINE_BYTES = 3, 64
#: Steps of the places from which on a prefetch of places pays.
_FEW_STEPS = 8


class Ahead(NamedTuple):
    """Loops of a weight prefetch.

    Steps of loop `dim` need new weights. The `steps` of loop `sharing` fetch these weights in turn.
    """

    dim: int
    size: int
    #: Number of points of a step.
    step: int
    sharing: int
    steps: int | None


def stream(result: Value, operand: int) -> Value:
    """Mark a structured operation as reading each row of an input once, and return its result."""
    result.owner.attributes[STREAM] = i64_attribute(operand)
    return result


def fetch_ahead(step: VectorStep) -> None:
    """Prefetch what a later step reads."""
    operation = step.nest.op.operation
    if STREAM not in operation.attributes:
        _fetch_weights(step)
        _fetch_places(step)
        return
    attribute = operation.attributes[STREAM]
    if not isinstance(attribute, ir.IntegerAttr) or not 0 <= attribute.value < step.nest.op.input_count:
        raise located_error(f"attribute '{STREAM}' must be the number of an input, got {attribute}", operation.location)
    _fetch_rows(step, attribute.value)


def _fetch_rows(step: VectorStep, operand: int) -> None:
    """Prefetch as many later rows of an input as this step reads."""
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
    """Prefetch a part of the weights that the next step of an outer loop reads, if there is such a loop."""
    op, plan, state = step.nest.op, step.nest.plan, step.state
    weights = _weights(op, plan, step)
    ahead = None if weights is None else _loops(op, plan, weights)
    if weights is None or ahead is None or state.is_of_zeros:
        return
    if state.counts[ahead.sharing] == 1 < plan.tile.get(ahead.sharing, 1):
        return  # A single point computes too little to hide the prefetch, which takes as long as the reads.
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
        # Nothing follows the last step, which may be a partial one.
        new[ahead.dim] = minimum(new[ahead.dim], ahead.size - 1)
        _fetch_weight(step, weights, new)


def _fetch_places(step: VectorStep) -> None:
    """Prefetch a place that the next step of the rows' loop reads. The channels of a block number the places."""
    op, plan = step.nest.op, step.nest.plan
    if (data := _data_in_blocks(step)) is None:
        return
    rows, channel, starts = plan.order[-plan.carried - 1], plan.order[-1], list(step.state.starts)
    # Only the last steps lack places behind them. They prefetch the last places, so that all are inside.
    last = op.shapes[data][-2] - op.shapes[data][-1]
    starts[rows] = minimum(starts[rows] + points_of_step(plan, rows), last) + starts[channel]
    starts[channel] = 0
    tensor = op.operands[data].type
    anywhere = ir.StridedLayoutAttr.get_fully_dynamic(tensor.rank)
    type_ = ir.MemRefType.get(tensor.shape, tensor.element_type, anywhere)
    place = step.access.at(starts).place(data, (0,) * len(op.dims))
    _fetch(op.operands[data], type_, place, _PLACE_LOCALITY)


def _data_in_blocks(step: VectorStep) -> int | None:
    """Return the input with blocks of channels of which each step of a sum reads some adjacent places, once.

    Return None if the first cache level holds the input.
    """
    op, plan, state = step.nest.op, step.nest.plan, step.state
    if step.nest.dots is not None or plan.panel is not None or not plan.carried or plan.vector in op.reductions:
        return None
    rows, channel = plan.order[-plan.carried - 1], plan.order[-1]
    data = [index for index in range(op.input_count) if op.uses(index, rows) and not op.uses(index, plan.vector)]
    if len(data) != 1 or not 1 < state.counts[rows] == points_of_step(plan, rows):
        return None
    (operand,) = data
    if len(op.accesses[operand]) < 2:
        return None
    *outer, places, channels = op.accesses[operand]
    if not (places.is_all_of(rows) and channels.is_all_of(channel)):
        return None
    if any(len(axis.factors) > 1 for axis in outer):
        return None
    shape, bits = op.shapes[operand], bit_width(str(op.element(operand)))
    is_line = state.counts[rows] <= shape[-1] <= _LINE_BYTES * 8 // bits
    # With a few steps for each block, the places come from the cache after the first step.
    is_known = min(shape) > 0 and shape[-2] >= _FEW_STEPS * state.counts[rows] + shape[-1]
    is_large = math.prod(shape) * bits // 8 > step.nest.first_cache
    return operand if is_line and is_known and is_large else None


def _weights(op: StructuredOp, plan: Plan, step: VectorStep) -> int | None:
    """Return the input of known size that a sum in registers reads as vectors."""
    packed = packed_operand(plan, step.nest.dots)
    if packed is not None or plan.panel is not None or not plan.carried or plan.vector in op.reductions:
        return packed
    operands = [operand for operand in range(op.input_count) if op.uses(operand, plan.vector)]
    is_plain = len(operands) == 1 and op.is_contiguous(operands[0], plan.vector) and plan.dot is None
    given = op.operands[operands[0]] if is_plain else None
    return operands[0] if isinstance(given, ir.BlockArgument) and given.type.has_static_shape else None


def _loops(op: StructuredOp, plan: Plan, weights: int) -> Ahead | None:
    """Return the loops for a prefetch of weights that several steps share before the weights change.

    Return None if a prefetch does not pay off.
    """
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
    type_ = ir.MemRefType.get(tensor.type.shape, tensor.type.element_type)
    _fetch(tensor, type_, place, _LOCALITY)
    if plan.dot is not None and plan.dot.pairs == MASKED:
        _fetch(tensor, type_, [place[0] + tensor.type.shape[0] // 2, *place[1:]], _LOCALITY)


def _fetch(tensor: Value, type_: Type, place: Sequence[Size], locality: int) -> None:
    memref = result_of("bufferization.to_buffer", [tensor], type_, read_only=ir.UnitAttr.get())
    attributes = {
        "isWrite": ir.BoolAttr.get(False),
        "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), locality),
        "isDataCache": ir.BoolAttr.get(True),
    }
    ir.Operation.create("memref.prefetch", operands=[memref, *map(as_index, place)], attributes=attributes)
