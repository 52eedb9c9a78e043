# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reordering that lets a product's epilogue work on the unreshaped result, and reshapes afterwards.

Exporters flatten dimensions for a product and restore them behind it. add(reshape(x @ w), y) becomes reshape(add(x @ w,
reshape(y))), and relax-fuse-ops can fuse the addition into the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ...bindings.ir import Block, Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.navigation import blocks_of, operations_in, operations_of
from ...bindings.rewriting import replace_op
from ...dialects import relax
from ...dialects.core.aliases import viewed
from ...dialects.core.codec import decode, encode
from ...dialects.core.dialect import row_of
from ...dialects.core.facts import OpPattern
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, equal
from ...dialects.relax.values import is_known, is_valid, same_known_shape, shape_of, tensor_info
from ..core.base import Pass
from ..core.registry import register_pass
from .layout.registry import is_elementwise

_PRODUCT = OpPattern.OUT_EWISE_FUSABLE.attribute_text


@register_pass
class ReorderReshapeAfterElementwise(Pass):
    """Move elementwise operations on a reshaped product before the reshape."""

    name: ClassVar[str] = "relax-reorder-reshape-after-elementwise"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        # The list of blocks is complete before the first operation is erased.
        blocks = [block for inner in (op, *operations_in(op)) if len(inner.regions) for block in blocks_of(inner)]
        for block in blocks:
            _Sweep().run(block)


@dataclass
class _Sweep:
    """One pass over a block. A reshape that moves behind an operation is in front of the next operation."""

    #: Results of products, and of elementwise operations on them.
    following: set[Value] = field(default_factory=set)

    def run(self, block: Block) -> None:
        for operation in operations_of(block):
            if (row := row_of(operation)) is None or len(operation.results) != 1:
                continue
            if row.pattern == _PRODUCT:
                self.following.add(operation.results[0])
            elif is_elementwise(row) and row.pure:
                self._go_on(operation.opview)

    def _go_on(self, op: OpView) -> None:
        operation = op.operation
        if any(self._follows_with(each, operation.results[0]) for each in operation.operands):
            self.following.add(operation.results[0])
            return
        for operand in operation.operands:
            source = viewed(operand) if isinstance(decode(operand.type), TensorInfo) else None
            if source is None or source not in self.following or not same_known_shape(operand, operation.results[0]):
                continue
            if (value := _apply_before_reshape(source, op)) is not None:
                self.following.add(value)
                return

    def _follows_with(self, operand: Value, result: Value) -> bool:
        """Check whether an operand is a result of a product already, in the operation's shape."""
        return operand in self.following and same_known_shape(operand, result)


def _apply_before_reshape(source: Value, op: OpView) -> Value | None:
    """Apply the operation to operands of the source's shape, and replace it by the reshaped result."""
    operation, shape, result = op.operation, shape_of(source), op.operation.results[0]
    if not is_known(shape):
        return None
    assert shape is not None
    with operation.location, ir.InsertionPoint(operation):
        operands = [_operand_in_shape(operand, source, shape, result) for operand in operation.operands]
        if any(operand is None for operand in operands):
            return None
        type_ = encode(tensor_info(result).with_shape(shape), operation.context)
        attributes = {name: operation.attributes[name] for name in operation.attributes.keys()}  # noqa: SIM118
        made = ir.Operation.create(operation.name, results=[type_], operands=operands, attributes=attributes)
        if not is_valid(made):
            made.erase()
            return None
        behind = relax.reshape(made.results[0], relax.shape_expr(dims=shape_of(result)))
    if behind.type != result.type:
        behind.owner.erase()
        made.erase()
        return None
    replace_op(operation, [behind])
    return made.results[0]


def _operand_in_shape(operand: Value, source: Value, shape: Sequence[Dim], result: Value) -> Value | None:
    """Return an operand for the operation on another shape, or None if it would not read the same elements."""
    if not isinstance(decode(operand.type), TensorInfo):
        return operand
    if same_known_shape(operand, result):
        before = viewed(operand)
        if before is not None and same_known_shape(before, source):
            return before
        return relax.reshape(operand, relax.shape_expr(dims=shape))
    return operand if _is_alike_behind(operand, shape, result) else None


def _is_alike_behind(operand: Value, shape: Sequence[Dim], result: Value) -> bool:
    """Check whether the operand broadcasts along last dimensions that both shapes share, from the same position on."""
    own, old = shape_of(operand), shape_of(result)
    if not is_known(own):
        return False
    assert own is not None and old is not None
    count = len(own) - next((place for place, size in enumerate(own) if size != 1), len(own))
    if len(own) > len(shape) or count > min(len(shape), len(old)):
        return False
    return all(equal(old[-place], shape[-place]) is True for place in range(1, count + 1))
