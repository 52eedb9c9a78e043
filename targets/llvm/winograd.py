# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The transforms of Winograd's convolutions with 3 taps: values of polynomials at 0, at pairs +p and -p, at infinity.

Errors grow with what the transforms multiply by. For 4 results a side the points 5/8 and 3/2 keep them about as small
as those of direct sums; with 1 and 2, as they are often given, they would be six times as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ...emit.numbers import Number
from ...emit.vectors import multiply_add

if TYPE_CHECKING:
    from numpy import ndarray

#: By the side of a tile that is transformed: of the pairs the points above 0.
_POINTS = {4: (1.0,), 6: (0.625, 1.5)}


def transform_data(values: Sequence[Number]) -> list[Number]:
    """A row of a tile: what is multiplied with a transformed kernel's."""
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
    """The results along a row, of its products."""
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
    """The matrix that a column of 3 taps is multiplied with."""
    import numpy

    points = [0.0, *(sign * point for point in _POINTS[side] for sign in (1, -1))]
    rows = []
    for point in points:
        distances = numpy.prod([point - other for other in points if other != point])
        rows.append([point**power / distances for power in range(3)])
    return numpy.array([*rows, [0.0, 0.0, 1.0]])


def _coefficients(points: Sequence[float]) -> list[float]:
    """Those of the product of x^2 - point^2, of even powers, the constant first."""
    found = [1.0]
    for point in points:
        found = [below - point * point * own for below, own in zip([0.0, *found], [*found, 0.0], strict=True)]
    return found


def _sum(factors: Sequence[float], values: Sequence[Number]) -> Number:
    """The products' sum, from a term without a factor on: the others are added as they are multiplied."""
    (factor, first), *rest = sorted(zip(factors, values, strict=True), key=lambda term: abs(term[0]) != 1)
    return reduce(lambda total, term: multiply_add(term[1], term[0], total), rest, first * factor)
