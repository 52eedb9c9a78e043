# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changed copies of immutable values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import pytest
from relax_mlir.support.replacing import replace


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2

    @cached_property
    def total(self) -> int:
        return self.x + self.y


def test_replace_agrees_with_dataclasses() -> None:
    point = Point(1)
    assert point.total == 3
    for changes in ({}, {"x": 5}, {"y": 7}, {"x": 8, "y": 9}):
        made = replace(point, **changes)
        assert made == dataclasses.replace(point, **changes) and type(made) is Point
        assert made.total == made.x + made.y
    assert point == Point(1, 2)


def test_fields_that_there_are_not() -> None:
    with pytest.raises(TypeError, match="Point has no z"):
        replace(Point(1), x=2, z=3)
