# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules that determine the step of a loop from an element, and steps that share elements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.indices import evaluated
from relax_mlir.dialects.core.symbols_expr import Size, make_variable
from relax_mlir.passes.kernels.loops.apart import admitted_steps, common_owners, overlaps, owners_of
from relax_mlir.passes.kernels.loops.tree import SPATIAL, Block, Iter, Loop

_EXTENTS = {"s": 3, "t": 4, "v": 3}
_S, _T, _V = (make_variable(name, extent - 1) for name, extent in _EXTENTS.items())
_LOOP = Loop("t", _EXTENTS["t"], ())


class _Access(NamedTuple):
    """Access with an index, of one dimension or of several that are fused, which is a sum of loops' multiples."""

    factors: tuple[int, int, int]
    start: int
    sizes: tuple[int, ...]

    def place(self) -> tuple[Size, ...]:
        s, t, v = self.factors
        index: Size = s * _S + t * _T + v * _V + self.start
        indices: list[Size] = []
        for size in reversed(self.sizes):
            indices.insert(0, index % size)
            index = index // size
        return (index, *indices)

    def elements(self) -> dict[tuple[int, ...], set[int]]:
        """Map each accessed element to the steps of `t` that access it."""
        points = dict(zip(_EXTENTS, np.indices(tuple(_EXTENTS.values())).reshape(len(_EXTENTS), -1), strict=True))
        indices = [np.broadcast_to(evaluated(each, points), points["t"].shape).tolist() for each in self.place()]
        found: dict[tuple[int, ...], set[int]] = {}
        for *element, step in zip(*indices, points["t"].tolist(), strict=True):
            found.setdefault(tuple(element), set()).add(step)
        return found


_SIZES = st.lists(st.integers(2, 12), max_size=2).map(tuple)
#: Factors of the loop inside, and the first indices, of two accesses.
_PAIRS = st.tuples(st.integers(0, 3), st.integers(0, 3)), st.tuples(st.integers(36, 48), st.integers(36, 48))


@draws(500)
@given(
    outer=st.sampled_from((0, 1, 4, -4, 5)), factor=st.integers(-6, 6), inner=_PAIRS[0], starts=_PAIRS[1], sizes=_SIZES
)
def test_elements_of_accesses_with_a_common_rule(
    outer: int, factor: int, inner: tuple[int, int], starts: tuple[int, int], sizes: tuple[int, ...]
) -> None:
    one, other = (
        _Access((outer * factor, factor, each), start, sizes) for each, start in zip(inner, starts, strict=True)
    )
    rules = [owners_of(each.place(), [_LOOP], _EXTENTS) for each in (one, other)]
    if not common_owners(*rules):
        return
    steps, other_steps = one.elements(), other.elements()
    for element in steps.keys() | other_steps.keys():
        assert len(steps.get(element, set()) | other_steps.get(element, set())) == 1, (one, other, element)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_Access((0, 3, 1), 0, ()), _Access((0, 3, 1), 0, ())),
        (_Access((0, 3, 1), 24, ()), _Access((0, 3, 1), 0, ())),
        (_Access((0, 2, 0), 0, ()), _Access((0, 2, 0), 1, ())),
        (_Access((12, 3, 1), 0, (5,)), _Access((12, 3, 1), 0, (5,))),
        (_Access((12, 3, 1), 0, (2, 13)), _Access((12, 3, 1), 0, (2, 13))),
    ],
)
def test_rules_of_tiles_and_of_fused_copies(one: _Access, other: _Access) -> None:
    assert common_owners(*(owners_of(each.place(), [_LOOP], _EXTENTS) for each in (one, other)))


def test_steps_that_conditions_leave_out() -> None:
    block = Block("B", (Iter("v", SPATIAL, 9),), (4 * _S + _V,), (), (), (), where=((4 * _S + _V, 6), (_T - _V, 1)))
    assert admitted_steps(block, _EXTENTS) == {"s": 2, "t": 4, "v": 3}
    assert owners_of((4 * _T + 3 * _S,), [_LOOP], _EXTENTS) == frozenset()
    assert owners_of((4 * _T + 3 * _S,), [_LOOP], admitted_steps(block, _EXTENTS))


@pytest.mark.parametrize(("limit", "is_shared"), [(2, False), (3, True)])
def test_steps_that_share_admitted_points(limit: int, is_shared: bool) -> None:
    block = Block("B", (Iter("b", SPATIAL, 9),), (2 * _T + _V + _S,), (), (), (), where=((_V + _S, limit),))
    assert overlaps(block, _LOOP, {"v": 3}) == is_shared
