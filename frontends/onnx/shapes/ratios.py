# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats that are sizes times or divided by numbers: so exporters compute sizes of resized images, `floor(n * 2.5)`.

A float holds a ratio exactly while its divisor is a power of two and the size not too large for a tensor. Any other
quotient is rounded, but to no integer that it is not: its floor and its ceiling are right, and nothing else is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import SymExpr, ceildiv
from ..prelude import Value, const, known, relax

_MOST_DIVISOR = 4096


class NotExact(Exception):
    """A float would round this."""


@dataclass(frozen=True)
class Ratio:
    """`number / divisor`; the divisor is positive."""

    number: int | SymExpr
    divisor: int = 1

    def floor(self) -> Ratio:
        return Ratio(self.number // self.divisor)

    def ceil(self) -> Ratio:
        if isinstance(self.number, int) and self.number < 0:
            raise NotExact  # it may be -0.0
        return Ratio(ceildiv(self.number, self.divisor))  # type: ignore[arg-type]

    def plus(self, other: Ratio) -> Ratio:
        return _exact(
            self.number * other.divisor + other.number * self.divisor, self.divisor * other.divisor, self, other
        )

    def minus(self, other: Ratio) -> Ratio:
        return self.plus(Ratio(other.number * -1, other.divisor))

    def times(self, other: Ratio) -> Ratio:
        return _exact(self.number * other.number, self.divisor * other.divisor, self, other)

    def over(self, other: Ratio) -> Ratio:
        if not isinstance(other.number, int) or other.number <= 0:
            raise NotExact
        return _exact(self.number * other.divisor, self.divisor * other.number, self, other)


def _exact(number: Any, divisor: int, *operands: Ratio) -> Ratio:
    if any(each.divisor & (each.divisor - 1) for each in operands) or divisor > _MOST_DIVISOR:
        raise NotExact
    if number == 0 and any(isinstance(each.number, int) and each.number < 0 for each in operands):
        raise NotExact  # it may be -0.0
    while divisor % 2 == 0 and isinstance(number, int) and number % 2 == 0:
        number, divisor = number // 2, divisor // 2
    return Ratio(number, divisor)


class RatioValue(Value):
    """A tensor of floats that are ratios; to all but those who know it, an ordinary one."""

    def __init__(self, ratios: Any, dtype: str):
        super().__init__(dtype=dtype)
        self.ratios = ratios

    @property
    def info(self) -> TensorInfo:
        return TensorInfo(tuple(self.ratios.shape), self._dtype)

    @property
    def ssa(self) -> Any:
        if self._ssa is None:
            import numpy

            numbers = numpy.frompyfunc(lambda ratio: ratio.number, 1, 1)(self.ratios)
            divisors = numpy.frompyfunc(lambda ratio: ratio.divisor, 1, 1)(self.ratios)
            floats = relax["astype"](known(numbers).ssa, dtype=self._dtype)
            self._ssa = relax["divide"](floats, const(numpy.asarray(divisors, "float64"), self._dtype))
        return self._ssa

    def inside(self, operation: Any) -> Value:
        return RatioValue(self.ratios, self._dtype)
