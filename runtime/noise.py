# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Noise of measured times: scatter, and times that are too short for the clock."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence

# Fewer times do not show how they scatter.
_FEWEST = 10
# On an idle machine, the 90th percentile is at most this many times the median.
_QUIET = 1.5
# Maximum seconds of a kernel's two clock readings, on any machine.
_DEAREST = 2e-6
# Times below this multiple of the clock's own cost are too short.
_COARSE = 5


def percentile(ordered: Sequence[float], share: int) -> float:
    """Return the smallest time that at least `share` percent of the calls did not exceed."""
    return ordered[max(math.ceil(len(ordered) * share / 100) - 1, 0)]


def clock_cost() -> float:
    """Return the seconds that the clock measures for an empty interval."""
    found = []
    for _ in range(50):
        start = time.perf_counter()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def notes_on_calls(seconds: Sequence[float], clock: float) -> list[str]:
    """Return the reasons to distrust the times of whole calls. `clock` is the clock's cost."""
    ordered = sorted(seconds)
    middle, high = percentile(ordered, 50), percentile(ordered, 90)
    notes = []
    if len(ordered) >= _FEWEST and high > _QUIET * middle:
        what = "something else runs on this machine, or its clock rate changes: the minimum says more than the median"
        notes.append(f"the times scatter, one call in ten takes {high / middle:.1f} times the median or more: {what}")
    if middle < _COARSE * clock:
        reading = f"reading the clock takes {clock * 1e9:.0f} ns of the {middle * 1e9:.0f} ns"
        notes.append(f"a call is too short for these times: {reading}")
    return notes


def note_on_kernels(profiled: float, unprofiled: float, calls: int, kernels: Sequence[tuple[str, float]]) -> list[str]:
    """Return notes on kernels that take less time than their own clocks. `kernels` has names, and seconds per call."""
    cost = (profiled - unprofiled) / calls if calls else 0.0
    if cost > _DEAREST:
        longer = f"{profiled * 1e3:.3f} ms against {unprofiled * 1e3:.3f} ms"
        what = "which clocks do not do: something else runs on this machine, or its clock rate changes"
        return [f"calls take longer with the clocks on than off, {longer}, {what}"]
    if not (below := [name for name, seconds in kernels if seconds < cost]):
        return []
    listed = ", ".join(below[:3]) + (f" and {len(below) - 3} more" if len(below) > 3 else "")
    return [f"the clocks take {cost * 1e9:.0f} ns at each kernel, more than what they measure of {listed}"]
