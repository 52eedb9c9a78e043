# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intervals contain the results of arithmetic on their numbers, and are no wider than necessary."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.intervals import OPERATIONS, UNKNOWN, Bounds, scale, union
from relax_mlir.dialects.core.symbols import sym

COMPUTED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "min": min, "max": max,
}  # fmt: skip
#: Also of more bits than machines have.
numbers = st.integers(-12, 12) | st.sampled_from([-(1 << 2000), 1 << 2000])


@st.composite
def intervals(draw: Any) -> tuple[Bounds, int]:
    """Draw bounds, and a number between them."""
    low, number, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
    return (draw(st.sampled_from([low, None])), draw(st.sampled_from([high, None]))), number


def holds(bounds: Bounds, number: int) -> bool:
    low, high = bounds
    return (low is None or low <= number) and (high is None or number <= high)


@pytest.mark.parametrize("sign", OPERATIONS)
@given(intervals(), intervals())
def test_results_lie_in_the_computed_interval(sign: str, left: tuple[Bounds, int], right: tuple[Bounds, int]) -> None:
    (one, x), (other, y) = left, right
    if sign in ("//", "%") and (y <= 0 or other[0] is None):
        assert OPERATIONS[sign](one, (None, other[1])) == UNKNOWN
        return
    assert holds(OPERATIONS[sign](one, other), COMPUTED[sign](x, y))


@given(intervals(), intervals(), numbers)
def test_unions_and_multiples(left: tuple[Bounds, int], right: tuple[Bounds, int], factor: int) -> None:
    (one, x), (other, y) = left, right
    both = union(one, other)
    assert holds(both, x) and holds(both, y)
    assert holds(scale(one, factor), factor * x)


@pytest.mark.parametrize("sign", ["+", "-", "*", "min", "max"])
@given(*[st.tuples(st.integers(-4, 4), st.integers(0, 4))] * 2)
def test_known_bounds_are_reached(sign: str, left: tuple[int, int], right: tuple[int, int]) -> None:
    spans = [range(start, start + length + 1) for start, length in (left, right)]
    found = [COMPUTED[sign](x, y) for x in spans[0] for y in spans[1]]
    assert OPERATIONS[sign](*((span[0], span[-1]) for span in spans)) == (min(found), max(found))


def test_half_open_intervals() -> None:
    natural = (0, None)
    assert OPERATIONS["*"](natural, (2, None)) == natural
    assert scale((1, None), -3) == (None, -3)
    assert OPERATIONS["%"](natural, (1, 8)) == (0, 7)
    assert OPERATIONS["%"]((0, 3), natural) == (0, 3)
    assert OPERATIONS["//"]((None, 9), (2, 4)) == (None, 4)
    assert OPERATIONS["min"](natural, (None, 5)) == (None, 5)


def test_sizes_with_names_as_bounds() -> None:
    n = sym("n")
    assert OPERATIONS["+"]((0, n - 1), (0, 3)) == (0, n + 2)
    assert OPERATIONS["-"]((0, n), (0, n)) == (-n, n)
    assert OPERATIONS["*"]((0, n - 1), (4, 4)) == (0, 4 * n - 4)
    assert OPERATIONS["//"]((0, 4 * n - 1), (4, 4)) == (0, n - 1)
    assert OPERATIONS["%"]((0, n), (4, 4)) == (0, 3)
    assert (OPERATIONS["*"]((0, n), (0, n)), OPERATIONS["//"]((0, 8), (1, n))) == ((0, None), UNKNOWN)
