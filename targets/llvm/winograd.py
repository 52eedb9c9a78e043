# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transforms of Winograd convolutions with 3 taps: values of polynomials at 0, at pairs +p and -p, at infinity.

Errors grow with the factors of the transforms. For 4 results per side, the points 5/8 and 3/2 keep the errors about as
small as those of direct sums. The usual points 1 and 2 would make them six times as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ...emit.numbers import Number
from ...emit.vectors import multiply_add

if TYPE_CHECKING:
    from numpy import ndarray

#: Positive points of the pairs, by the side of the transformed tile.
_POINTS = {4: (1.0,), 6: (0.625, 1.5)}


def transform_data(values: Sequence[Number]) -> list[Number]:
    """Transform a row of a tile, for the product with a transformed kernel."""
    points = _POINTS[len(values)]
    even, odd = values[::2], values[1::2]
    whole = _coefficients(points)
    found = [_sum(whole, even)]
    for point in points:
        others = _coefficients([other for other in points if other != point])
        middle, side = _sum(others, even[1:]), _sum(others, odd[:-1])
        found += [_sum([1.0, factor], [middle, side]) for factor in (point, -point)]
    return [*found, _sum(whole, odd)]


def transform_back(values: Sequence[Number]) -> list[Number]:
    """Return the results along a row from its products."""
    points = _POINTS[len(values)]
    first, *pairs, last = values
    above, below = pairs[::2], pairs[1::2]
    sums = [x + y for x, y in zip(above, below, strict=True)]
    differences = [x - y for x, y in zip(above, below, strict=True)]
    found = [
        _sum([point**power for point in points], differences if power % 2 else sums) for power in range(len(values) - 2)
    ]
    return [found[0] + first, *found[1:-1], found[-1] + last]


def transform_of_kernel(side: int) -> ndarray:
    """Return the matrix that transforms a column of 3 taps."""
    import numpy

    points = [0.0, *(sign * point for point in _POINTS[side] for sign in (1, -1))]
    rows = []
    for point in points:
        distances = numpy.prod([point - other for other in points if other != point])
        rows.append([point**power / distances for power in range(3)])
    return numpy.array([*rows, [0.0, 0.0, 1.0]])


def _coefficients(points: Sequence[float]) -> list[float]:
    """Return the coefficients of the even powers in the product of (x^2 - point^2), the constant first."""
    coefficients = [1.0]
    for point in points:
        coefficients = [
            below - point * point * own for below, own in zip([0.0, *coefficients], [*coefficients, 0.0], strict=True)
        ]
    return coefficients


def _sum(factors: Sequence[float], values: Sequence[Number]) -> Number:
    """Return the sum of products.

    The sum starts with a term without a factor, and the others are fused multiply-adds.
    """
    (factor, first), *rest = sorted(zip(factors, values, strict=True), key=lambda term: abs(term[0]) != 1)
    return reduce(lambda total, term: multiply_add(term[1], term[0], total), rest, first * factor)
