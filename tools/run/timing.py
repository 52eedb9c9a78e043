# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Duration of calls of one function, or of several functions in comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ...runtime.noise import percentile

#: Number of turns when several functions are timed.
_TURNS = 5


def time_in_turns(calls: Sequence[Callable[[], object]], repeat: int = 100, warmup: int = 10) -> list[list[float]]:
    """Return the sorted durations in seconds of each function's calls.

    Several functions take turns, so that other load of the machine affects all alike. The first call of a turn is not
    counted.
    """
    turns = min(_TURNS, repeat) if len(calls) > 1 else 1
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(turns):
        count = repeat * (turn + 1) // turns - repeat * turn // turns
        for call, times in zip(calls, seconds, strict=True):
            for _ in range(warmup if turn == 0 else 1):
                call()
            times += _time(call, count)
    return [sorted(second) for second in seconds]


def _time(call: Callable[[], object], count: int) -> list[float]:
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def times_text(seconds: Sequence[float]) -> str:
    """Format the median, percentiles and minimum of the times on one line, in a suitable unit."""
    unit, factor = ("ms", 1e3) if percentile(seconds, 50) >= 1e-3 else ("us", 1e6)
    shown = [("median", 50), ("p90", 90), ("p99", 99)]
    parts = [f"{name} {percentile(seconds, share) * factor:.2f}" for name, share in shown]
    calls = "1 call" if len(seconds) == 1 else f"{len(seconds)} calls"
    return f"{calls}: {', '.join(parts)}, min {seconds[0] * factor:.2f} {unit}\n"


def times_against(ours: Sequence[float], theirs: Sequence[float], name: str, threads: int) -> str:
    """Format both programs' times, and their ratio."""
    share = percentile(ours, 50) / percentile(theirs, 50)
    on = "1 thread" if threads == 1 else f"{threads} threads"
    lines = [f"this program: {times_text(ours)}", f"{name}: {times_text(theirs)}"]
    return "".join([*lines, f"{share:.2f} of {name}'s time, by medians of calls in turns, both on {on}\n"])
