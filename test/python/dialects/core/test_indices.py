# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Divided loop indices: their known properties, and other ways to write them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.indices import regrouped
from relax_mlir.dialects.core.symbols_expr import make_variable, substituted

_EXTENTS = {"x": 12, "y": 4, "z": 3}
_FACTORS = st.integers(0, 24)


@given(st.tuples(_FACTORS, _FACTORS, _FACTORS), st.integers(-9, 9), st.integers(1, 24), st.randoms())
def test_regrouped_is_the_same_number(factors: tuple[int, ...], constant: int, by: int, random: object) -> None:
    variables = [make_variable(name, extent - 1) for name, extent in _EXTENTS.items()]
    index = sum((factor * each for factor, each in zip(factors, variables, strict=True)), constant)
    point = {name: random.randrange(extent) for name, extent in _EXTENTS.items()}  # type: ignore[attr-defined]
    for each in (index // by, index % by, 3 * (index // by) + index % by, (index // by) % 5):
        assert substituted(regrouped(each), point) == substituted(each, point)


def test_digits_with_carries_are_regrouped() -> None:
    x, y = (make_variable(name, _EXTENTS[name] - 1) for name in "xy")
    assert str(regrouped((4 * x + y) // 8)) == "x//2"
    assert str(regrouped((4 * x + y) % 8)) == "y + 4*(x%2)"
    assert str(regrouped((3 * x + y) % 6)) == "(3*x + y)%6", "y goes to the next 3"
