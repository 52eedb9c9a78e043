# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of calls, measured in turns so that the machine's load is the same for all programs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

#: Seconds that the calls of one side of a turn take, fewest calls of a turn, and most calls.
_TURN, _FEWEST, _MOST = 0.004, 3, 10_000
#: Turns by a device's own clock, which other processes do not disturb: as many as a winner's confidence needs.
_DEVICE_TURNS = 7

#: Function that returns seconds.
Clock = Callable[[], float]


def time_in_turns(
    programs: Sequence[Callable[..., object]], arguments: Sequence[object], turns: int, clock: Clock | None = None
) -> list[tuple[float, ...]]:
    """Return the seconds of a call of each program, for each turn.

    A turn takes the fastest of several calls, or one call by a device's own clock.
    """
    if clock is not None:
        return [tuple(_seconds(each, arguments, clock) for each in programs) for _ in range(min(turns, _DEVICE_TURNS))]
    for program in programs:
        program(*arguments)
    once = min(_seconds(program, arguments) for program in programs)
    count = max(_FEWEST, min(int(_TURN / max(once, 1e-7)), _MOST))
    return [
        tuple(min(_seconds(function, arguments) for _ in range(count)) for function in programs) for _ in range(turns)
    ]


def _seconds(program: Callable[..., object], arguments: Sequence[object], clock: Clock = time.perf_counter) -> float:
    start = clock()
    program(*arguments)
    return clock() - start
