# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that can be collapsed into one."""

from __future__ import annotations

import pytest
from relax_mlir.emit.collapse import AxisStep, are_neighbours, chains


def walk(*loops: int | tuple[int, ...]) -> list[AxisStep]:
    """Return the steps along the axes of an operand: each is a loop, or a sum of several."""
    return [
        AxisStep(axis, loop, frozenset({loop})) if isinstance(loop, int) else AxisStep(axis, None, frozenset(loop))
        for axis, loop in enumerate(loops)
    ]


@pytest.mark.parametrize(
    ("walks", "found"),
    [
        ([walk(0, 1, 2), walk(0, 1, 2)], [[0, 1, 2]]),
        ([walk(0, 1, 2), walk(0, 1)], [[0, 1], [2]]),
        ([walk(0, 1, 2), walk(1, 2)], [[0], [1, 2]]),
        ([walk(0, 1, 2), walk(0, 2)], [[0], [1], [2]]),
        ([walk(1, 0, 2)], [[1, 0, 2]]),
        ([walk(0, 1, 2), walk(2, 0, 1)], [[0, 1], [2]]),
        ([walk(0, (1, 2)), walk(0, 1), walk(2)], [[0], [1], [2]]),
        ([walk(0, 1, 2), walk(0, 2, 1)], [[0], [1], [2]]),
    ],
)
def test_chains_of_neighbours_in_all_operands(walks: list[list[AxisStep]], found: list[list[int]]) -> None:
    joins = lambda left, right: are_neighbours(walks, left, right, lambda *_: True)  # noqa: E731
    assert chains(range(3), walks, joins) == found


def test_a_gap_separates_collapsed_dimensions() -> None:
    asked = []

    def is_whole(operand: int, outer: int, inner: int) -> bool:
        asked.append((operand, outer, inner))
        return operand == 0

    assert not are_neighbours([walk(2, 0, 1), walk(0, 1)], 0, 1, is_whole)
    assert asked == [(0, 1, 2), (1, 0, 1)]
