# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roots of sums of squares, norms and deviations: where all squares are 0 nothing makes them smaller."""

from __future__ import annotations

from ...bindings.ir import Operation, Value
from ...bindings.navigation import made_by
from ...dialects.relax.known_constants import is_constant, splat
from ..decompose.tensor_formulas import Tensor

#: What sums of squares go through and stay such: multiples by a constant, and views, too.
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
#: The most values that are looked at: a norm is written with fewer.
_MOST = 32


def by_length(g: Tensor, y: Tensor) -> Tensor:
    """The gradient of a sum of squares by that of its root: 0 where all squares are, which nothing makes smaller.

    No infinite number stands behind the choice either: a derivative of it would have it times 0.
    """
    is_zero = y.equals(0.0)
    return is_zero.where(0.0, g * (0.5 / is_zero.where(1.0, y)))


def is_sum_of_squares(x: Value) -> bool:
    """Whether it is squares, or sums and multiples of them: a norm's, a variance's."""
    rest, seen = [x], {x}
    while rest:
        made = made_by(rest.pop())
        if made is None or len(seen) > _MOST:
            return False
        if _is_square(made):
            continue
        summed = _summed(made)
        if not summed:
            return False
        more = [each for each in summed if each not in seen]
        rest += more
        seen.update(more)
    return True


def _is_square(made: Operation) -> bool:
    if made.name in _SQUARES:
        return True
    if made.name == "relax.power":
        return splat(made.operands[1]) == 2
    return made.name == "relax.multiply" and made.operands[0] == made.operands[1]


def _summed(made: Operation) -> list[Value]:
    """What are to be sums of squares that its result is one; nothing where it is none in any case."""
    operands = list(made.operands)
    if made.name in _SUMS:
        return operands
    if made.name in _VIEWS or (made.name in _SCALES and is_constant(operands[1])):
        return operands[:1]
    return operands[1:] if made.name == "relax.multiply" and is_constant(operands[0]) else []
