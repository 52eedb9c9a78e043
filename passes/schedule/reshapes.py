# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that were joined and taken apart again for the next operation. MLIR sees through that where no more than one
of the joined sizes is unknown; what is left would be copied, or count as reading what is written in its place.
"""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from ...bindings.navigation import operations_in

_COLLAPSE, _EXPAND, _DIM = "tensor.collapse_shape", "tensor.expand_shape", "tensor.dim"
_DYNAMIC = ir.ShapedType.get_dynamic_size()


def fold_reshapes(function: Any) -> None:
    """Takes what was joined before it was taken apart, and sizes from where they were stated."""
    for op in operations_in(function):
        if op.name == _COLLAPSE and (apart := _expansion(op.operands[0])) is not None:
            if apart.attributes["reassociation"] == op.attributes["reassociation"]:
                op.result.replace_all_uses_with(apart.operands[0])
                op.erase()
        elif op.name == _DIM and (apart := _expansion(op.operands[0])) is not None:
            size = _stated_size(apart, op.operands[1])
            if size is not None:
                op.result.replace_all_uses_with(size)
                op.erase()
    for op in reversed(operations_in(function)):
        if op.name == _EXPAND and not any(True for _ in op.result.uses):
            op.erase()


def _expansion(value: Any) -> Any:
    """The operation that takes a tensor's dimensions apart; None where it is made otherwise."""
    made = None if isinstance(value.owner, ir.Block) else value.owner.operation
    return made if made is not None and made.name == _EXPAND else None


def _stated_size(apart: Any, axis: Any) -> Any:
    """The value that says how large a dimension becomes; None where it is no value."""
    if isinstance(axis.owner, ir.Block) or axis.owner.operation.name != "arith.constant":
        return None
    position = axis.owner.operation.attributes["value"].value
    sizes = list(apart.attributes["static_output_shape"])
    if sizes[position] != _DYNAMIC:
        return None
    return apart.operands[1 + sizes[:position].count(_DYNAMIC)]
