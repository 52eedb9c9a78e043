# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations that follow a reduction one after another become one, which can be the reduction's epilogue.

te writes the bias, the scale and the activation of a convolution as operations with a tensor each.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.affine import identity
from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import is_used_once, last_of, made_by, operations_of
from ....bindings.rewriting import copy_operation, is_used
from ....dialects.core.ir_attributes import PLAN, UNPLANNED
from ....emit import linalg
from ....emit.generic import GENERIC, GenericOp
from ....emit.numbers import Number
from ..schedule.epilogue import LONG

#: Operations in the body of a sum of products.
_OF_PRODUCTS = frozenset(
    "arith.addf arith.addi arith.extf arith.extsi arith.extui arith.mulf arith.muli linalg.yield math.fma".split()
)


def join_chains(block: Block) -> None:
    """Join chains of elementwise operations in a block, each of which begins with the results of a sum of products."""
    operations = [each for each in operations_of(block) if each.name == GENERIC]
    chain: set[Operation] = set()
    for operation in operations:
        if (producer := _producer(GenericOp(operation), chain)) is not None:
            chain.discard(producer.operation)
            operation = _join(producer, GenericOp(operation))
        if _is_elementwise(GenericOp(operation)) and any(map(_is_reduced, operation.operands)):
            chain.add(operation)


def _producer(op: GenericOp, chain: set[Operation]) -> GenericOp | None:
    """Return an operation of the chains that an elementwise operation can be joined with, or None."""
    if not chain or not _is_elementwise(op):
        return None
    for value, map_ in zip(op.inputs, op.maps, strict=False):
        made = made_by(value, GENERIC)
        if made not in chain or not is_used_once(value) or map_ != identity(len(op.kinds)):
            continue
        producer = GenericOp(made)
        if producer.kinds == op.kinds and len(producer.block.operations) + len(op.block.operations) - 2 <= LONG:
            return producer
    return None


def _is_elementwise(op: GenericOp) -> bool:
    """Check that an operation computes each element of its only result once, at the element's place."""
    attributes = op.operation.attributes
    if any(len(operation.regions) for operation in operations_of(op.block)):
        return False
    if len(op.outputs) != 1 or op.reductions or PLAN in attributes or UNPLANNED in attributes:
        return False
    return op.output_maps[0] == identity(len(op.kinds)) and not op.is_read(op.input_count)


def _is_reduced(value: Value) -> bool:
    """Check that a value is a sum of products: a convolution's or a matrix product's result, but no variance."""
    made = made_by(value, GENERIC)
    if made is None or not GenericOp(made).reductions or len(GenericOp(made).inputs) < 2:
        return False
    return all(operation.name in _OF_PRODUCTS for operation in operations_of(GenericOp(made).block))


def _join(producer: GenericOp, consumer: GenericOp) -> Operation:
    """Replace two operations by one. Return the one."""
    (result,) = producer.operation.results
    place = list(consumer.inputs).index(result)
    count, others = producer.input_count, [index for index in range(consumer.input_count) if index != place]
    inputs = [*producer.inputs, *(consumer.inputs[each] for each in others)]
    maps = [*producer.maps[:count], *(consumer.maps[each] for each in others), consumer.output_maps[0]]

    def body(*scalars: Number) -> Value:
        values = [scalar.value for scalar in scalars]
        between = _copy_body(producer.block, values[:count])
        mine = dict(zip(others, values[count:], strict=False))
        return _copy_body(consumer.block, [mine.get(index, between) for index in range(consumer.input_count)])

    with ir.InsertionPoint(consumer.operation), consumer.operation.location:
        (whole,) = linalg.generic(inputs, consumer.outputs, maps, consumer.kinds, body)
    consumer.operation.results[0].replace_all_uses_with(whole)
    consumer.operation.erase()
    memory = made_by(producer.outputs[0], "tensor.empty")
    producer.operation.erase()
    if memory is not None and not is_used(memory):
        memory.erase()
    joined = made_by(whole)
    assert joined is not None
    return joined


def _copy_body(block: Block, arguments: Sequence[Value]) -> Value:
    """Copy a body to the insertion point, with other arguments. Return the value that it yields."""
    values: dict[Value, Value] = dict(zip(block.arguments, arguments, strict=False))
    for operation in operations_of(block)[:-1]:
        values = {**{operand: operand for operand in operation.operands}, **values}  # constants from outside
        copy_operation(operation, values)
    (yielded,) = last_of(block).operands
    return values.get(yielded, yielded)
