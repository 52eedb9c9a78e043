# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Noise of measured times: what scatters, and what is too short for the clock."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence

# Fewer times than these say nothing of how they scatter.
_FEWEST = 10
# The 90th percentile is at most this many times the median on a machine that does nothing else.
_QUIET = 1.5
# Seconds that a kernel's two clocks take at most, on any machine.
_DEAREST = 2e-6
# What takes less than this many times of what reading the clock does.
_COARSE = 5


def percentile(ordered: Sequence[float], share: int) -> float:
    """The smallest time that at least `share` percent of the calls did not exceed."""
    return ordered[max(math.ceil(len(ordered) * share / 100) - 1, 0)]


def clock_cost() -> float:
    """Seconds that are measured where nothing is done."""
    found = []
    for _ in range(50):
        start = time.perf_counter()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def notes_on_calls(seconds: Sequence[float], clock: float) -> list[str]:
    """Why the times of whole calls are not to be trusted as they stand; nothing where they are. `clock`: its cost."""
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
    """Kernels that take less than their own clocks. `kernels`: names, and seconds of one call of each."""
    cost = (profiled - unprofiled) / calls if calls else 0.0
    if cost > _DEAREST:
        longer = f"{profiled * 1e3:.3f} ms against {unprofiled * 1e3:.3f} ms"
        what = "which clocks do not do: something else runs on this machine, or its clock rate changes"
        return [f"calls take longer with the clocks on than off, {longer}, {what}"]
    below = [name for name, seconds in kernels if seconds < cost]
    if not below:
        return []
    listed = ", ".join(below[:3]) + (f" and {len(below) - 3} more" if len(below) > 3 else "")
    return [f"the clocks take {cost * 1e9:.0f} ns at each kernel, more than what they measure of {listed}"]
