# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repetition of measurements during which a virtual machine's host took CPUs away: Linux reports the stolen time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P, T = ParamSpec("P"), TypeVar("T")
_TIMES = Path("/proc/stat")
#: Limit relative to the time of one CPU; number of tries until the last one is accepted; seconds in between.
_MOST_STOLEN, _TRIES, _PAUSE = 0.02, 10, 0.5


def undisturbed(measure: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return a measurement during which the host takes nothing, if possible."""
    for _ in range(_TRIES):
        stolen, start = _stolen_seconds(), time.perf_counter()
        found = measure(*args, **kwargs)
        # The kernel counts in hundredths of a second: one may belong to the time before.
        counted = 1 / os.sysconf("SC_CLK_TCK") if _TIMES.exists() else 0.0
        if _stolen_seconds() - stolen <= max(counted, _MOST_STOLEN * (time.perf_counter() - start)):
            return found
        time.sleep(_PAUSE)
    return found


def _stolen_seconds() -> float:
    """Return the stolen seconds of all CPUs since the machine started; 0 if unknown."""
    if not _TIMES.exists():
        return 0.0
    fields = _TIMES.read_text(encoding="ascii").split(maxsplit=9)
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")
