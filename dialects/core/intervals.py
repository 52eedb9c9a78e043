# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interval arithmetic: the lower and upper bound of an integer, None for no bound.

OPERATIONS accept symbolic bounds too. Sums accept any bounds, products and quotients one symbolic bound and a number.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost more than this module
if TYPE_CHECKING:
    from collections.abc import Callable

Bounds = tuple[int | None, int | None]
UNKNOWN: Bounds = (None, None)


def add(left: Bounds, right: Bounds) -> Bounds:
    (low, high), (other_low, other_high) = left, right
    return (
        None if low is None or other_low is None else low + other_low,
        None if high is None or other_high is None else high + other_high,
    )


def subtract(left: Bounds, right: Bounds) -> Bounds:
    return add(left, scale(right, -1))


def scale(interval: Bounds, number: int) -> Bounds:
    low, high = interval if number >= 0 else interval[::-1]
    return None if low is None else number * low, None if high is None else number * high


def multiply(left: Bounds, right: Bounds) -> Bounds:
    for one, other in ((left, right), (right, left)):
        if isinstance(one[0], int) and one[0] == one[1]:
            return scale(other, one[0])
    (low, high), (other_low, other_high) = left, right
    if not isinstance(low, int) or not isinstance(other_low, int):
        return UNKNOWN
    if not isinstance(high, int) or not isinstance(other_high, int):
        return (low * other_low, None) if low >= 0 and other_low >= 0 else UNKNOWN
    ends = low * other_low, low * other_high, high * other_low, high * other_high
    return min(ends), max(ends)


def floor_divide(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a quotient. A divisor that cannot be negative counts as at least 1."""
    (low, high), (smallest, largest) = left, right
    if isinstance(smallest, int) and smallest == largest and smallest > 0:
        return None if low is None else low // smallest, None if high is None else high // smallest
    if not all(each is None or isinstance(each, int) for each in (low, high, smallest, largest)):
        return UNKNOWN
    if smallest is None or smallest < 0:
        return UNKNOWN
    smallest = max(smallest, 1)
    # A quotient is farthest from zero for the smallest divisor, nearest for the largest.
    if low is not None:
        low = low // smallest if low < 0 else low // largest if largest else 0
    if high is not None:
        high = high // smallest if high >= 0 else high // largest if largest else -1
    return low, high


def remainder(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a remainder, which is not negative if the divisor cannot be negative."""
    (low, high), (smallest, largest) = left, right
    if not isinstance(smallest, int) or smallest < 0:
        return UNKNOWN
    ends = [largest - 1 if isinstance(largest, int) else None, high if isinstance(low, int) and low >= 0 else None]
    return 0, min((end for end in ends if isinstance(end, int)), default=None)


def minimum(*several: Bounds) -> Bounds:
    lows, highs = zip(*several, strict=True)
    return None if None in lows else min(lows), min((high for high in highs if high is not None), default=None)


def maximum(*several: Bounds) -> Bounds:
    lows, highs = zip(*several, strict=True)
    return max((low for low in lows if low is not None), default=None), None if None in highs else max(highs)


def union(*several: Bounds) -> Bounds:
    """Return bounds that contain all given intervals."""
    return minimum(*several)[0], maximum(*several)[1]


#: Operations by the operator's sign.
OPERATIONS: dict[str, Callable[..., Bounds]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "//": floor_divide,
    "%": remainder,
    "min": minimum,
    "max": maximum,
}
