# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prologue and epilogue of a reduction, while its results are in registers: the number that each starts from, and what
an operation makes of each, a bias, a rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...bindings.ir import Operation, Value
from ...bindings.navigation import made_by, operations_of, use_count
from ...bindings.rewriting import Decline
from ...emit.generic import GENERIC, GenericOp
from ...emit.groups import fill_of
from ...emit.structured import StructuredOp, analyze
from .loop_collapsing import asks_for_place
from .plan import Plan
from .vector_access import is_lanewise
from .vector_body import check_body

#: A longer epilogue takes more instructions than it takes to store a vector and to load it again, by far.
_LONG = 16


@dataclass(frozen=True)
class Epilogue:
    """The operation, and for each of its inputs the operand of the reduction that it is; None for the result."""

    op: StructuredOp
    operands: tuple[int | None, ...]


def producer_of(consumer: StructuredOp) -> int:
    """The first input that is a reduction's result and used nowhere else. Raises Decline without one."""
    for operand in range(consumer.input_count):
        if _reduction_of(consumer, operand) is not None:
            return operand
    raise Decline("no input of it is a reduction's result")


def _reduction_of(consumer: StructuredOp, operand: int) -> Operation | None:
    """The operation whose only result an input is, for this use only; None where it is no reduction."""
    producer = made_by(consumer.operands[operand], GENERIC)
    if producer is None or producer.block != consumer.operation.block or len(producer.results) != 1:
        return None
    return producer if GenericOp(producer).reductions and _is_for(producer.results[0], consumer) else None


def _is_for(result: Value, consumer: StructuredOp) -> bool:
    """Whether an operation is the only user of a result: takes it once, and maybe its place for its own result."""
    taken = sum(operand == result for operand in consumer.operands[: consumer.input_count])
    placed = sum(operand == result for operand in consumer.outputs)
    return taken == 1 and use_count(result) == taken + placed


def with_epilogue(consumer: StructuredOp, position: int) -> tuple[StructuredOp, Epilogue]:
    """The reduction that an input is, writing what the consumer makes of its results, or Decline."""
    if consumer.reductions or len(consumer.outputs) != 1 or consumer.reads_output(0):
        raise Decline("it is not on each result of a reduction")
    if asks_for_place(consumer):
        raise Decline("it asks where it is")
    operation = _reduction_of(consumer, position) if position < consumer.input_count else None
    if operation is None:
        raise Decline(f"operand {position} is no reduction's result that is used here only")
    producer = analyze(operation)
    check_body(producer)
    dims = _common_dims(producer, consumer, position)
    extras = [operand for operand in range(consumer.input_count) if operand != position]
    taken = [*extras, consumer.output_start]
    inputs = producer.input_count
    # The results' place is that of what the consumer makes of them.
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
    """The tensor that a reduction writes over, before it is filled with what the reduction starts from."""
    value = reduction.operands[len(reduction.operands) - 1]
    fill = fill_of(value)
    return value if fill is None else fill.operands[len(fill.operands) - 1]


def _common_dims(producer: StructuredOp, consumer: StructuredOp, position: int) -> dict[int, int]:
    """The reduction's loop for each of the consumer's."""
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
    """Raises Decline where the epilogue's other inputs would be fetched lane by lane."""
    if any(is_lanewise(op, vector, operand) for operand in range(op.input_count, len(op.operands))):
        raise Decline("what else it reads is not contiguous along the vectors")


def is_long(epilogue: Epilogue) -> bool:
    """Whether it computes so much that its code matters: a sigmoid, not a bias or a bound."""
    computed = sum(inner.name != "arith.constant" for inner in operations_of(epilogue.op.block))
    return computed > _LONG


# ---- before ----


def keeps_results(op: StructuredOp, plan: Plan) -> bool:
    """Whether nothing is written before a result is done."""
    carried = plan.order[len(plan.order) - plan.carried :]
    is_cut = not plan.threads and any(dim in carried for dim, _ in plan.blocks)
    return sum(len(plan.joined[dim]) for dim in carried) == len(op.reductions) > 0 and not is_cut
