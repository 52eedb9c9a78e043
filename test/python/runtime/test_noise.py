# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notes on measured times, only if there is a reason."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from relax_mlir.runtime.noise import clock_cost, note_on_kernels, notes_on_calls
from relax_mlir.runtime.profile import Profile

SCATTER = "the times scatter, one call in ten takes {} times the median or more: "
CLOCKS = "the clocks take {} ns at each kernel, more than what they measure of {}"


@pytest.mark.parametrize(
    ("seconds", "clock", "expected"),
    [
        ([1e-3] * 100, 1e-7, []),
        ([1e-3] * 90 + [1.0] * 10, 1e-7, []),  # nine in ten are as the median
        ([1e-3] * 89 + [2e-3] * 11, 1e-7, [SCATTER.format("2.0")]),
        ([2e-3, *[1e-3] * 8, 2e-3], 1e-7, [SCATTER.format("2.0")]),  # in any order
        ([1e-3] * 85 + [1.5e-3] * 15, 1e-7, []),
        ([1e-3, 9.0], 1e-7, []),  # too few to tell
        ([1e-6] * 20, 3e-7, ["a call is too short for these times: reading the clock takes 300 ns of the 1000 ns"]),
        ([1e-6] * 20, 2e-7, []),
        ([1e-7] * 5 + [1e-6] * 5, 1e-7, [SCATTER.format("10.0"), "a call is too short"]),
    ],
)
def test_notes_on_calls(seconds: list[float], clock: float, expected: list[str]) -> None:
    found = notes_on_calls(seconds, clock)
    assert len(found) == len(expected)
    assert all(note.startswith(start) for note, start in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("profiled", "calls", "kernels", "expected"),
    [
        (2e-6, 10, [("a", 1e-7), ("b", 2e-7)], []),
        (2e-6, 10, [("a", 0.9e-7), ("b", 2e-7)], [CLOCKS.format(100, "a")]),
        (3e-6, 10, [(name, 1e-7) for name in "abcde"], [CLOCKS.format(200, "a, b, c and 2 more")]),
        (0.9e-6, 10, [("a", 1e-9)], []),  # faster with clocks: chance
        (1e-6, 0, [], []),
    ],
)  # fmt: skip
def test_notes_on_kernels(profiled: float, calls: int, kernels: Any, expected: list[str]) -> None:
    assert note_on_kernels(profiled, 1e-6, calls, kernels) == expected


def test_a_difference_that_no_clock_makes_is_reported_as_noise() -> None:
    """Attribute "the clocks take 41789 ns" to other load on the machine: the clocks take about 20 ns."""
    (note,) = note_on_kernels(9.43e-4, 1.05e-4, 20, [("k", 1e-6)])
    assert note.startswith("calls take longer with the clocks on than off, 0.943 ms against 0.105 ms, which clocks do")
    assert "something else runs on this machine" in note and " ns" not in note


def test_the_clock_has_a_cost() -> None:
    assert 0 < clock_cost() < 1e-3


def test_profiles_show_notes() -> None:
    profile = Profile("main", 1, (), 1e-3, 1.0, 1e-3, 1e-3)
    noted = dataclasses.replace(profile, notes=("one", "two"))
    assert str(noted) == f"{profile}note: one\nnote: two\n" and noted.to_dict()["notes"] == ("one", "two")
