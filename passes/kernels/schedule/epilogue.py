# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prologue and epilogue of a reduction, applied while its results are in registers.

The prologue is the number from which each result starts. The epilogue is elementwise work on each result, such as a
bias or a rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....bindings.ir import Operation, Value
from ....bindings.navigation import made_by, operations_of, use_count
from ....bindings.rewriting import Decline
from ....emit.generic import GENERIC, GenericOp
from ....emit.groups import fill_of
from ....emit.structured import StructuredOp, analyze
from .loop_collapsing import asks_for_place
from .plan import Plan
from .vector_access import is_lanewise
from .vector_body import check_body

#: Epilogues with more operations take far more instructions than a store and a load of a vector.
LONG = 16


@dataclass(frozen=True)
class Epilogue:
    """Epilogue operation, with the reduction's operand for each of its inputs; None for the reduction's result."""

    op: StructuredOp
    operands: tuple[int | None, ...]


def producer_of(consumer: StructuredOp) -> int:
    """Return the first input that is a reduction's result and has no other use. Raises Decline if there is none."""
    for operand in range(consumer.input_count):
        if _reduction_of(consumer, operand) is not None:
            return operand
    raise Decline("no input of it is a reduction's result")


def _reduction_of(consumer: StructuredOp, operand: int) -> Operation | None:
    """Return the reduction that computes an input, if it has no other result and no other use. None otherwise."""
    producer = made_by(consumer.operands[operand], GENERIC)
    if producer is None or producer.block != consumer.operation.block or len(producer.results) != 1:
        return None
    return producer if GenericOp(producer).reductions and _is_for(producer.results[0], consumer) else None


def _is_for(result: Value, consumer: StructuredOp) -> bool:
    """Return True if an operation is the only user of a result.

    The operation reads the result once, and may overwrite it with its own result.
    """
    taken = sum(operand == result for operand in consumer.operands[: consumer.input_count])
    placed = sum(operand == result for operand in consumer.outputs)
    return taken == 1 and use_count(result) == taken + placed


def with_epilogue(consumer: StructuredOp, position: int) -> tuple[StructuredOp, Epilogue]:
    """Return the reduction that an input comes from, with the consumer as its epilogue.

    The reduction writes the consumer's results. Raises Decline if that is impossible.
    """
    if consumer.reductions or len(consumer.outputs) != 1 or consumer.reads_output(0):
        raise Decline("it does not work on each result of a reduction")
    if asks_for_place(consumer):
        raise Decline("it depends on its position")
    operation = _reduction_of(consumer, position) if position < consumer.input_count else None
    if operation is None:
        raise Decline(f"operand {position} is no reduction's result without other uses")
    producer = analyze(operation)
    check_body(producer)
    dims = _common_dims(producer, consumer, position)
    extras = [operand for operand in range(consumer.input_count) if operand != position]
    taken = [*extras, consumer.output_start]
    inputs = producer.input_count
    # The consumer's output is the place of the results.
    place = consumer.outputs[0] if consumer.outputs[0] != operation.results[0] else _place_of(operation)
    op = replace(
        producer,
        operands=(*producer.operands[:inputs], *(consumer.operands[operand] for operand in extras), place),
        accesses=(
            *producer.accesses[:inputs],
            *(tuple(index.renumbered(dims) for index in consumer.accesses[operand]) for operand in taken),
        ),
        shapes=(*producer.shapes[:inputs], *(consumer.shapes[operand] for operand in taken)),
    )
    numbers: list[int | None] = [inputs + place for place in range(len(extras))]
    numbers.insert(position, None)
    return op, Epilogue(consumer, tuple(numbers))


def _place_of(reduction: Operation) -> Value:
    """Return the tensor that a reduction overwrites, before the fill with the initial value."""
    value = reduction.operands[len(reduction.operands) - 1]
    fill = fill_of(value)
    return value if fill is None else fill.operands[len(fill.operands) - 1]


def _common_dims(producer: StructuredOp, consumer: StructuredOp, position: int) -> dict[int, int]:
    """Map the consumer's loops to the reduction's."""
    dims: dict[int, int] = {}
    axes = zip(consumer.accesses[position], producer.output_accesses[0], producer.shapes[-1], strict=True)
    for theirs, ours, size in axes:
        if size == 1 and not theirs.factors and not ours.factors:
            continue
        if theirs.dim is None or ours.dim is None or theirs.dim in dims or theirs.is_partial:
            raise Decline("it takes the results in another form")
        dims[theirs.dim] = ours.dim
    if any(size != 1 and dim not in dims for dim, size in enumerate(consumer.sizes)):
        raise Decline("it takes a result more than once")
    return dims


def check_lanes(op: StructuredOp, vector: int) -> None:
    """Check that the epilogue's other inputs need not be loaded lane by lane. Raises Decline."""
    if any(is_lanewise(op, vector, operand) for operand in range(op.input_count, len(op.operands))):
        raise Decline("its other inputs are not contiguous along the vectors")


def is_long(epilogue: Epilogue) -> bool:
    """Return True if the epilogue's code size matters: for a sigmoid, not for a bias or a bound."""
    computed = sum(inner.name != "arith.constant" for inner in operations_of(epilogue.op.block))
    return computed > LONG


# ---- prologue ----


def keeps_results(op: StructuredOp, plan: Plan) -> bool:
    """Return True if no partial result is written to memory."""
    carried = plan.order[len(plan.order) - plan.carried :]
    is_cut = not plan.threads and any(dim in carried for dim, _ in plan.blocks)
    return sum(len(plan.joined[dim]) for dim in carried) == len(op.reductions) > 0 and not is_cut
