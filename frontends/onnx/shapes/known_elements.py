# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements that are known while a model is imported: integers, booleans, and floats that are ratios of sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ....bindings.ir import Operation
from ....dialects.core.infos import TensorInfo, bit_width, is_bool, is_int
from ....dialects.core.symbols import SymExpr, ceildiv
from ....emit.reduction import highest, lowest
from ..prelude import Node, Value, const, known, relax
from ..tensors import Array
from ..values import Held, Tensor

# Larger tensors are data, not shapes.
MOST_ELEMENTS = 256
# f16 and bf16 hold too few sizes exactly.
_FLOATS = {"f32": "float32", "f64": "float64"}


class NotKnown(Exception):
    """The result is not a function of dimensions, or nobody can say it as one."""


def by_numpy(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of numpy makes of elements. Raises NotKnown where it refuses them: the converter says why."""
    try:
        return function(*arguments)
    except (IndexError, ValueError) as error:  # one that numpy names; what calls it is not in here
        raise NotKnown from error


def has_elements(value: Held | None) -> bool:
    """Whether a value is small and its elements are known."""
    if isinstance(value, RatioValue):
        return True
    if not isinstance(value, Value):
        return False
    if value.array is not None and (value.array.size > MOST_ELEMENTS or value.array.dtype.name in _FLOATS.values()):
        return bool(value.array.size <= MOST_ELEMENTS)
    return value.elements is not None and value.elements.size <= MOST_ELEMENTS


def elements(node: Node, index: int) -> Array:
    """The elements of an input, an array of objects: numbers and expressions, or ratios of them where it has floats."""
    value = node.value(index)
    if isinstance(value, RatioValue):
        return value.ratios
    if value.array is not None and value.array.dtype.kind == "f":
        return _ratios_of(value.array)
    if value.elements is None:
        raise NotKnown
    return value.elements


def _ratios_of(array: Array) -> Array:
    import numpy

    if not numpy.isfinite(array).all() or (numpy.signbit(array) & (array == 0)).any():
        raise NotKnown  # no ratio
    return objects([Ratio(*each.as_integer_ratio()) for each in array.ravel()]).reshape(array.shape)


def result(found: Any, dtype: str) -> Value:
    """A value of elements. Raises NotKnown for those that its type does not hold."""
    import numpy

    found = numpy.asarray(found, dtype=object)
    if any(each is None or isinstance(each, Ratio) != (dtype in _FLOATS) for each in found.ravel()):
        raise NotKnown
    if dtype in _FLOATS:
        return _floats(found, dtype)
    if is_bool(dtype):
        return known(found, dtype)
    if not is_int(dtype) or bit_width(dtype) not in (8, 16, 32, 64):
        raise NotKnown
    plain = [int(each) for each in found.ravel() if not isinstance(each, SymExpr)]
    if any(not lowest(dtype) <= each <= highest(dtype) for each in plain):
        raise NotKnown  # it would wrap around
    return known(found, dtype)


def _floats(ratios: Array, dtype: str) -> Value:
    """Ratios of sizes; a constant where no symbol is among them."""
    import numpy

    if any(isinstance(each.number, SymExpr) for each in ratios.ravel()):
        return RatioValue(ratios, dtype)
    array = numpy.array([each.number / each.divisor for each in ratios.ravel()], _FLOATS[dtype]).reshape(ratios.shape)
    if any(
        Fraction(float(held)) != Fraction(int(each.number), each.divisor)
        for held, each in zip(array.ravel(), ratios.ravel(), strict=True)
    ):
        raise NotKnown  # it would be rounded
    return Value(array=array)


def objects(items: Sequence[object]) -> Array:
    """A 1-D array of them."""
    import numpy

    array = numpy.empty(len(items), object)
    for index, item in enumerate(items):
        array[index] = item
    return array


# ---- floats that are sizes times or divided by numbers ----
# So exporters compute sizes of resized images, `floor(n * 2.5)`. A float holds a ratio exactly while its divisor is a
# power of two and the size not too large for a tensor. Any other quotient is rounded, but to no integer that it is not:
# its floor and its ceiling are right, and nothing else is asked.


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


def _exact(number: int | SymExpr, divisor: int, *operands: Ratio) -> Ratio:
    if any(each.divisor & (each.divisor - 1) for each in operands) or divisor > _MOST_DIVISOR:
        raise NotExact
    if number == 0 and any(isinstance(each.number, int) and each.number < 0 for each in operands):
        raise NotExact  # it may be -0.0
    while divisor % 2 == 0 and isinstance(number, int) and number % 2 == 0:
        number, divisor = number // 2, divisor // 2
    return Ratio(number, divisor)


class RatioValue(Value):
    """A tensor of floats that are ratios; to all but those who know it, an ordinary one."""

    def __init__(self, ratios: Array, dtype: str):
        super().__init__(dtype=dtype)
        self.ratios = ratios

    @property
    def info(self) -> TensorInfo:
        return TensorInfo(tuple(self.ratios.shape), self._dtype)

    @property
    def ssa(self) -> Tensor:
        if self._ssa is None:
            import numpy

            numbers = numpy.frompyfunc(lambda ratio: ratio.number, 1, 1)(self.ratios)
            divisors = numpy.frompyfunc(lambda ratio: ratio.divisor, 1, 1)(self.ratios)
            floats = relax["astype"](known(numbers).ssa, dtype=self._dtype)
            self._ssa = relax["divide"](floats, const(numpy.asarray(divisors, "float64"), self._dtype))
        return self._ssa

    def inside(self, operation: Operation) -> Value:
        return RatioValue(self.ratios, self._dtype)
