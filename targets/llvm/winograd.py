# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The transforms of Winograd's convolutions with 3 taps, by polynomials' values at 0, at pairs +p and -p, and at infinity.

The points of 4 results keep errors as small as those of direct sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...bindings.mlir import ir
from ...emit.arithmetic import result_of
from ...emit.numbers import Number, number

if TYPE_CHECKING:
    from numpy import ndarray

#: By the side of a transformed tile: the positive ones of the points beside 0 and infinity.
POINTS = {4: (1.0,), 6: (0.625, 1.5)}


def _polynomial(squares: Sequence[float]) -> list[float]:
    """The coefficients of the product of (x - square), the constant first."""
    found = [1.0]
    for square in squares:
        found = [low - square * high for low, high in zip([0.0, *found], [*found, 0.0], strict=True)]
    return found


def transform_data(values: Sequence[Number]) -> list[Number]:
    pairs = POINTS[len(values)]
    squares = [each * each for each in pairs]
    even, odd = list(values[::2]), list(values[1::2])
    whole = _polynomial(squares)
    found = [_sum(whole, even)]
    for place, point in enumerate(pairs):
        rest = _polynomial(squares[:place] + squares[place + 1 :])
        high, low = _sum(rest, even[1:]), _sum(rest, odd[:-1])
        found += _plus_and_minus(high, low, point)
    return [*found, _sum(whole, odd)]


def transform_back(values: Sequence[Number]) -> list[Number]:
    pairs = POINTS[len(values)]
    first, *between, last = values
    sums = [x + y for x, y in zip(between[::2], between[1::2], strict=True)]
    differences = [x - y for x, y in zip(between[::2], between[1::2], strict=True)]
    found = [
        _sum([point**power for point in pairs], differences if power % 2 else sums)
        for power in range(len(values) - 2)
    ]
    found[0] = found[0] + first
    found[-1] = found[-1] + last
    return found


def _sum(factors: Sequence[float], values: Sequence[Number]) -> Number:
    """Terms with a factor of one first: the others are multiplied and added in one."""
    terms = sorted(zip(factors, values, strict=True), key=lambda term: abs(term[0]) != 1)
    (factor, value), *rest = terms
    total = value if factor == 1 else value * factor
    for factor, value in rest:
        total = total + value if factor == 1 else total - value if factor == -1 else multiply_add(value, factor, total)
    return total


def _plus_and_minus(high: Number, low: Number, point: float) -> list[Number]:
    if point == 1:
        return [high + low, high - low]
    return [multiply_add(low, point, high), multiply_add(low, -point, high)]


def multiply_add(x: Number, y: Any, z: Number) -> Number:
    """x * y + z, rounded once where the machine can."""
    fast = ir.Attribute.parse("#arith.fastmath<contract>")
    multiplied = result_of("arith.mulf", [x, x.beside(y)], x.type, fastmath=fast)
    return number(result_of("arith.addf", [multiplied, z], x.type, fastmath=fast))


def transform_kernel(side: int) -> ndarray:
    """What 3 taps are multiplied with: [side, 3]."""
    import numpy

    points = [0.0, *(sign * point for point in POINTS[side] for sign in (1, -1))]
    rows = []
    for point in points:
        others = numpy.prod([point - other for other in points if other != point])
        rows.append([point**power / others for power in range(3)])
    return numpy.array([*rows, [0.0, 0.0, 1.0]])
