# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and convolutions of one operand with several weights, and the equal steps that follow them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cmp_to_key
from typing import NamedTuple

from ....bindings.erasing import detach
from ....bindings.ir import Block, Operation, OpView, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_of, users_of
from ....dialects.core.dialect import row_of
from ....dialects.core.symbols import Dim, equal
from ....dialects.core.verifier import call_of
from ....dialects.relax.infer.layouts import layouts_of
from ....dialects.relax.values import dtype_of, keeps_shape, shape_of

CONVOLUTIONS = tuple(f"relax.nn.conv{rank}d" for rank in (1, 2, 3))
_COMBINED = ("relax.matmul", *CONVOLUTIONS)


class Branch(NamedTuple):
    """One product. An axis of its weight is a dimension of its result."""

    op: OpView
    weight_axis: int
    #: Counted from the last axis, which broadcasting keeps: -1 is the last.
    result_axis: int

    @property
    def weight(self) -> Value:
        return self.op.operation.operands[1]

    @property
    def size(self) -> Dim:
        shape = shape_of(self.weight)
        assert shape is not None
        return shape[self.weight_axis]


def groups_in(block: Block) -> list[list[Branch]]:
    """Return groups of branches in a block with the same operand that differ only in their weights' known sizes."""
    groups: dict[Hashable, list[Branch]] = {}
    for operation in operations_of(block):
        if operation.name not in _COMBINED:
            continue
        branch = _branch(operation.opview)
        key = None if branch is None or branch.size is None else _key(branch)
        if branch is not None and key is not None:
            groups.setdefault(key, []).append(branch)
    return [group for group in groups.values() if len(group) > 1]


def _branch(op: OpView) -> Branch | None:
    if (name := op.operation.name) == "relax.matmul":
        shape = shape_of(op.x2)
        is_matrix = shape is not None and len(shape) > 1 and shape_of(op.x1) is not None
        return Branch(op, len(shape) - 1, -1) if shape is not None and is_matrix else None
    if name not in CONVOLUTIONS or op.groups != 1 or shape_of(op.weight) is None:
        return None
    layouts = layouts_of(call_of(op.definition, op.operation))
    if any(axis.block is not None for layout in layouts.values() for axis in layout.axes):
        return None
    outputs = [axis.dimension for axis in layouts["weight"].axes].index("O")
    channels = [axis.dimension for axis in layouts["result"].axes].index("C")
    return Branch(op, outputs, channels - len(layouts["result"].axes))


def _key(branch: Branch) -> Hashable:
    """Return the attributes, types and sizes that must agree, or None if a size is unknown."""
    op, shape = branch.op.operation, shape_of(branch.weight)
    assert shape is not None
    others = [size for axis, size in enumerate(shape) if axis != branch.weight_axis]
    if None in others:
        return None
    attributes = tuple((name, op.attributes[name]) for name in sorted(op.attributes))
    return op.name, op.operands[0], dtype_of(branch.weight), tuple(map(str, others)), attributes


# Most operations that are moved for one weight: a transpose, a cast, a sum with an adapter.
_MOST_MOVED = 8


def makers_behind(value: Value, operation: Operation) -> list[Operation] | None:
    """Return the operations after `operation` that compute a value and could run before it, in order.

    None if a value depends on the operation, has an effect, or takes too many operations.
    """
    operations: list[Operation] = []
    waiting = [value]
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, ir.Block) or owner.operation.block != operation.block:
            continue
        maker = owner.operation
        if maker in operations or maker.is_before_in_block(operation):
            continue
        if maker == operation or len(operations) == _MOST_MOVED or not _is_pure(maker):
            return None
        operations.append(maker)
        waiting += maker.operands
    return sorted(operations, key=cmp_to_key(_compare_places))


def _compare_places(one: Operation, other: Operation) -> int:
    return -1 if one.is_before_in_block(other) else 1


def _is_pure(operation: Operation) -> bool:
    row = row_of(operation)
    return operation.name == "arith.constant" or (row is not None and row.pure)


def bring_before(value: Value, operation: Operation) -> None:
    for maker in makers_behind(value, operation) or ():
        # After `move_before`, MLIR numbers all operations of the block again when asked for an order.
        detach(maker)
        ir.InsertionPoint(operation).insert(maker)


class Step(NamedTuple):
    """Next operation of a branch: an operator of one operand, or one with a bias."""

    op: OpView
    bias: Value | None
    bias_index: int


def next_step(value: Value, axis: int, size: Dim) -> Step | None:
    """Return the only use of a branch's value if it is elementwise, or has a bias along the branch's dimension."""
    users = users_of(value)
    if len(users) != 1:
        return None
    op, row = users[0].opview, row_of(users[0])
    if row is None or len(op.operation.results) != 1 or op.operation.block != value.owner.operation.block:
        return None
    if row.pattern == "elemwise" and row.pure and len(op.operation.operands) == 1:
        return Step(op, None, 0) if shape_of(op.operation.results[0]) is not None else None
    if op.operation.name not in ("relax.add", "relax.multiply"):
        return None
    index = 1 if op.x1 == value else 0
    bias = op.operation.operands[index]
    return Step(op, bias, index) if _is_bias(bias, value, axis, size) else None


def _is_bias(bias: Value, value: Value, axis: int, size: Dim) -> bool:
    """Check whether a bias has one number per position of the branch's dimension, and size 1 elsewhere."""
    shape = shape_of(bias)
    if shape is None or len(shape) < -axis or equal(shape[axis], size) is not True or not keeps_shape(value, bias):
        return False
    return all(equal(each, 1) is True for place, each in enumerate(shape) if place != len(shape) + axis)


def are_alike(steps: Sequence[Step | None]) -> bool:
    """Check whether all branches continue with the same operator, equal attributes, and biases of one rank."""
    first = steps[0]
    return first is not None and all(step is not None and _signature(step) == _signature(first) for step in steps)


def _signature(step: Step) -> Hashable:
    op = step.op.operation
    bias = None if step.bias is None else (dtype_of(step.bias), len(shape_of(step.bias) or ()))
    return op.name, step.bias_index, bias, tuple((name, op.attributes[name]) for name in sorted(op.attributes))
