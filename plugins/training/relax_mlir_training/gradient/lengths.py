# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of roots of sums of squares, such as norms and deviations: 0 where all squares are 0."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import made_by
from relax_mlir.dialects.relax.known_constants import is_constant, splat
from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor

#: Operations that preserve sums of squares. Multiplication by a constant and views do, too.
_SUMS = ["relax.sum", "relax.mean", "relax.add", "relax.astype"]
_VIEWS = [
    "relax.squeeze",
    "relax.expand_dims",
    "relax.reshape",
    "relax.flatten",
    "relax.permute_dims",
    "relax.broadcast_to",
]
_SCALES = ["relax.multiply", "relax.divide"]
_SQUARES = ["relax.square", "relax.variance"]
#: The most values that are visited. A norm needs fewer.
_MOST = 32


def by_length(g: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of a sum of squares from that of its root: 0, a minimum, where all squares are 0.

    The untaken branch of the choice is finite, too: a derivative of the choice multiplies that branch by 0.
    """
    is_zero = y.equals(0.0)
    return is_zero.where(0.0, g * (0.5 / is_zero.where(1.0, y)))


def is_sum_of_squares(x: Value) -> bool:
    """Check whether a value is a sum or multiple of squares, as in norms and variances."""
    rest, seen = [x], {x}
    while rest:
        made = made_by(rest.pop())
        if made is None or len(seen) > _MOST:
            return False
        if _is_square(made):
            continue
        summed = _find_summands(made)
        if not summed:
            return False
        more = [each for each in summed if each not in seen]
        rest += more
        seen.update(more)
    return True


def _is_square(operation: Operation) -> bool:
    if operation.name in _SQUARES:
        return True
    if operation.name == "relax.power":
        return splat(operation.operands[1]) == 2
    return operation.name == "relax.multiply" and operation.operands[0] == operation.operands[1]


def _find_summands(operation: Operation) -> list[Value]:
    """Return the operands that must be sums of squares for the result to be one, or [] if it cannot be one."""
    operands = list(operation.operands)
    if operation.name in _SUMS:
        return operands
    if operation.name in _VIEWS or (operation.name in _SCALES and is_constant(operands[1])):
        return operands[:1]
    return operands[1:] if operation.name == "relax.multiply" and is_constant(operands[0]) else []
