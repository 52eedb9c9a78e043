# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats that are ratios of sizes and numbers, and arithmetic on single elements that may be expressions.

Exporters compute sizes of resized images this way: `floor(n * 2.5)`. A float is an exact ratio while its divisor is a
power of two and the size is not too large for a tensor. Any other quotient is rounded, but never to an integer that it
does not equal. Its floor and its ceiling are right, and nothing else may be computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...dialects.core.symbols import Size, SymExpr, ceildiv, dim_max, dim_min, equal
from ...dialects.relax.infer.sizes import at_least, exceeds

_MOST_DIVISOR = 4096


class NotKnown(Exception):
    """Raised if a result does not follow from the known elements, or has no expression."""


class NotExact(NotKnown):
    """Raised if a float would round the result, or carry the sign of a zero."""


@dataclass(frozen=True)
class Ratio:
    """`number / divisor` with a positive divisor. A zero is never negative."""

    number: Size
    divisor: int = 1

    @property
    def is_symbolic(self) -> bool:
        return isinstance(self.number, SymExpr)

    def __add__(self, other: Ratio) -> Ratio:
        number = self.number * other.divisor + other.number * self.divisor
        return _exact(number, self.divisor * other.divisor, self, other)

    def __sub__(self, other: Ratio) -> Ratio:
        return self + Ratio(-other.number, other.divisor)

    def __mul__(self, other: Ratio) -> Ratio:
        _require_signless(self, other)
        return _exact(self.number * other.number, self.divisor * other.divisor, self, other)

    def __truediv__(self, other: Ratio) -> Ratio:
        if not isinstance(other.number, int) or other.number <= 0:
            raise NotExact
        return _exact(self.number * other.divisor, self.divisor * other.number, self, other)

    def __neg__(self) -> Ratio:
        if not exceeds(self.number, 0):
            raise NotExact
        return Ratio(-self.number, self.divisor)

    def floor(self) -> Ratio:
        return Ratio(self.number // self.divisor)

    def ceil(self) -> Ratio:
        if not at_least(self.number, 0):
            raise NotExact  # the result may be -0.0
        return Ratio(ceildiv(self.number, self.divisor) or 0)

    def truncated(self) -> Size:
        """Truncate to an integer. Sizes are not negative."""
        if isinstance(self.number, int) and self.number < 0:
            return -(-self.number // self.divisor)
        return self.number // self.divisor


def _require_signless(*factors: Ratio) -> None:
    """Raise NotExact if a product may be zero times a negative number."""
    numbers = [factor.number for factor in factors]
    if not all(at_least(number, 0) for number in numbers) and not all(equal(number, 0) is False for number in numbers):
        raise NotExact


def _exact(number: Size, divisor: int, *operands: Ratio) -> Ratio:
    if any(operand.divisor & (operand.divisor - 1) for operand in operands) or divisor > _MOST_DIVISOR:
        raise NotExact
    while divisor % 2 == 0 and isinstance(number, int) and number % 2 == 0:
        number, divisor = number // 2, divisor // 2
    return Ratio(number, divisor)


# ---- elements, which are integers, expressions or ratios ----


def size(element: Any) -> Size:
    """Return an element that is no ratio. Raise NotKnown for ratios."""
    if isinstance(element, Ratio):
        raise NotKnown
    return element


def smaller(left: object, right: object) -> Any:
    return dim_min(size(left), size(right))


def larger(left: object, right: object) -> Any:
    return dim_max(size(left), size(right))


def divided(left: Any, right: Any) -> Any:
    """Divide. Integers are truncated towards zero, and sizes are not negative."""
    if isinstance(left, Ratio):
        return left / right
    if isinstance(left, SymExpr) or isinstance(right, SymExpr):
        return -(-left // right) if isinstance(left, int) and left < 0 else floor_divided(left, right)
    quotient = abs(left) // abs(nonzero(right))
    return quotient if (left < 0) == (right < 0) else -quotient


def floor_divided(left: object, right: object) -> Any:
    if isinstance(right, int) and right < 0:
        raise NotKnown
    return size(left) // nonzero(right)


def remainder(left: object, right: object) -> Any:
    """Return the remainder with the divisor's sign."""
    return size(left) % nonzero(right)


def cut_remainder(left: object, right: object) -> Any:
    """Return the remainder of a division that truncates towards zero."""
    return left - divided(size(left), right) * right


def nonzero(divisor: object) -> Any:
    if isinstance(size(divisor), int) and divisor == 0:
        raise NotKnown
    return divisor


def absolute(element: Any) -> Any:
    if at_least(size(element), 0):
        return element
    if at_least(0, element):
        return -element
    raise NotKnown


def truncated(element: object) -> Any:
    return element.truncated() if isinstance(element, Ratio) else element


def as_ratio(element: Any) -> Ratio:
    return element if isinstance(element, Ratio) else Ratio(element)


def is_same(left: object, right: object) -> bool:
    if (answer := equal(size(left), size(right))) is None:
        raise NotKnown
    return answer


def is_larger(left: Any, right: Any) -> bool:
    if exceeds(size(left), size(right)):
        return True
    if at_least(right, left):
        return False
    raise NotKnown
