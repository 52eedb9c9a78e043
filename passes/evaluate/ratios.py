# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats that are sizes times or divided by numbers, and what is done with single elements that are expressions.

So exporters compute sizes of resized images, `floor(n * 2.5)`. A float holds a ratio exactly while its divisor is a
power of two and the size not too large for a tensor. Any other quotient is rounded, but to no integer that it is not:
its floor and its ceiling are right, and nothing else is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...dialects.core.symbols import Size, SymExpr, ceildiv, dim_max, dim_min, equal
from ...dialects.relax.infer.sizes import at_least, exceeds

_MOST_DIVISOR = 4096


class NotKnown(Exception):
    """What an operator gives is no function of what is known, or cannot be expressed as one."""


class NotExact(NotKnown):
    """A float would round this, or have the sign of a zero in it."""


@dataclass(frozen=True)
class Ratio:
    """`number / divisor`; the divisor is positive. A zero is never the negative one."""

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
            raise NotExact  # it may be -0.0
        return Ratio(ceildiv(self.number, self.divisor) or 0)

    def truncated(self) -> Size:
        """Cut towards zero, as an integer; sizes are not negative."""
        if isinstance(self.number, int) and self.number < 0:
            return -(-self.number // self.divisor)
        return self.number // self.divisor


def _require_signless(*factors: Ratio) -> None:
    """Refuses what may be a zero times a negative number."""
    numbers = [each.number for each in factors]
    if not all(at_least(each, 0) for each in numbers) and not all(equal(each, 0) is False for each in numbers):
        raise NotExact


def _exact(number: Size, divisor: int, *operands: Ratio) -> Ratio:
    if any(each.divisor & (each.divisor - 1) for each in operands) or divisor > _MOST_DIVISOR:
        raise NotExact
    while divisor % 2 == 0 and isinstance(number, int) and number % 2 == 0:
        number, divisor = number // 2, divisor // 2
    return Ratio(number, divisor)


# ---- elements, which are integers, expressions or ratios ----


def size(element: Any) -> Size:
    """An element that is no ratio."""
    if isinstance(element, Ratio):
        raise NotKnown
    return element


def smaller(left: object, right: object) -> Any:
    return dim_min(size(left), size(right))


def larger(left: object, right: object) -> Any:
    return dim_max(size(left), size(right))


def divided(left: Any, right: Any) -> Any:
    """Integers are divided towards zero; sizes are not negative."""
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
    """With the divisor's sign."""
    return size(left) % nonzero(right)


def cut_remainder(left: object, right: object) -> Any:
    """What is left of a division towards zero."""
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
    answer = equal(size(left), size(right))
    if answer is None:
        raise NotKnown
    return answer


def is_larger(left: Any, right: Any) -> bool:
    if exceeds(size(left), size(right)):
        return True
    if at_least(right, left):
        return False
    raise NotKnown
