# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roots of sums of squares, norms and deviations: where all squares are 0 nothing makes them smaller."""

from __future__ import annotations

from ...bindings.ir import Value
from ...bindings.navigation import made_by
from ..canonicalize.constants import is_constant
from .tensors import Tensor

#: What sums of squares go through and stay such: multiples by a constant, too.
_SUMS = ["relax.sum", "relax.mean", "relax.add", "relax.astype", "relax.squeeze", "relax.expand_dims"]
_SCALES = ["relax.multiply", "relax.divide"]
_SQUARES = ["relax.square", "relax.variance"]
#: So many values are looked at: a norm is written with fewer.
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
        if made.name in _SQUARES or (made.name == "relax.multiply" and made.operands[0] == made.operands[1]):
            continue
        if made.name not in (*_SUMS, *_SCALES) or (made.name in _SCALES and not is_constant(made.operands[1])):
            return False
        more = [each for each in made.operands[: 1 if made.name in _SCALES else None] if each not in seen]
        rest += more
        seen.update(more)
    return True
