# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An operation on each result of a reduction, done while the result is still in registers: a bias, a rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...bindings.mlir import ir
from ...bindings.rewriting import Decline
from .structured import Linear, StructuredOp, analyze, shape_of
from .vector_access import is_lanewise
from .vector_body import check_body


@dataclass(frozen=True)
class Epilogue:
    """The operation, and for each of its inputs the operand of the reduction that it is; None for the result."""

    op: StructuredOp
    operands: tuple[int | None, ...]


def producer_of(consumer: StructuredOp) -> tuple[Any, int]:
    """The reduction whose results an operation takes one by one, and at which input. Raises Decline without one."""
    if consumer.reductions or len(consumer.outputs) != 1 or consumer.reads_output(0):
        raise Decline("it is not on each result of a reduction")
    if any(view.operation.name in ("linalg.index", "tensor.extract") for view in consumer.block.operations):
        raise Decline("it asks where it is")
    for operand in range(consumer.input_count):
        owner = consumer.operands[operand].owner
        if isinstance(owner, ir.Block) or owner.operation.name != "linalg.generic":
            continue
        producer = owner.operation
        is_near = producer.block == consumer.operation.block and len(producer.results) == 1
        is_reduction = any("reduction" in str(iterator) for iterator in producer.attributes["iterator_types"])
        if is_near and is_reduction and sum(1 for _ in producer.results[0].uses) == 1:
            return producer, operand
    raise Decline("no input of it is a reduction's result")


def with_epilogue(consumer: StructuredOp) -> tuple[StructuredOp, Epilogue]:
    """The reduction that writes what the consumer makes of its results. Raises Decline where there is none."""
    operation, position = producer_of(consumer)
    producer = analyze(operation)
    check_body(producer)
    dims = _common_dims(producer, consumer, position)
    extras = [operand for operand in range(consumer.input_count) if operand != position]
    taken = [*extras, consumer.output_start]
    inputs = producer.input_count
    op = replace(
        producer,
        operands=(*producer.operands[:inputs], *(consumer.operands[operand] for operand in taken)),
        accesses=(
            *producer.accesses[:inputs],
            *(tuple(_renumbered(index, dims) for index in consumer.accesses[operand]) for operand in taken),
        ),
    )
    numbers: list[int | None] = [inputs + place for place in range(len(extras))]
    numbers.insert(position, None)
    return op, Epilogue(consumer, tuple(numbers))


def _common_dims(producer: StructuredOp, consumer: StructuredOp, position: int) -> dict[int, int]:
    """The reduction's loop for each of the consumer's."""
    dims: dict[int, int] = {}
    axes = zip(consumer.accesses[position], producer.output_accesses[0], shape_of(producer.outputs[0]), strict=True)
    for theirs, ours, size in axes:
        if size == 1 and not theirs.factors and not ours.factors:
            continue
        if theirs.dim is None or ours.dim is None or theirs.dim in dims or theirs.is_partial:
            raise Decline("it takes the results in another form")
        dims[theirs.dim] = ours.dim
    if any(size != 1 and dim not in dims for dim, size in enumerate(consumer.sizes)):
        raise Decline("it takes a result more than once")
    return dims


def _renumbered(index: Linear, dims: Mapping[int, int]) -> Linear:
    return index._replace(factors=tuple(sorted((dims[dim], factor) for dim, factor in index.factors)))


def check_lanes(op: StructuredOp, vector: int) -> None:
    """Raises Decline where what the epilogue reads besides would be fetched lane by lane."""
    if any(is_lanewise(op, vector, operand) for operand in range(op.input_count, len(op.operands))):
        raise Decline("what it reads besides lies across the vectors")
