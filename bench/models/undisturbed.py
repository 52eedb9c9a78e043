# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures again where a virtual machine's host gave CPUs to somebody else meanwhile: Linux says for how long."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P, T = ParamSpec("P"), TypeVar("T")
_TIMES = Path("/proc/stat")
#: Of the time that one CPU had; how often more is measured, until the last is taken as it is; seconds in between.
_MOST_STOLEN, _TRIES, _PAUSE = 0.02, 10, 0.5


def undisturbed(measure: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What is measured while the host takes nothing, if that happens soon."""
    for _ in range(_TRIES):
        stolen, start = _stolen_seconds(), time.perf_counter()
        found = measure(*args, **kwargs)
        # The kernel counts in hundredths of a second: one may be of the time before.
        counted = 1 / os.sysconf("SC_CLK_TCK") if _TIMES.exists() else 0.0
        if _stolen_seconds() - stolen <= max(counted, _MOST_STOLEN * (time.perf_counter() - start)):
            return found
        time.sleep(_PAUSE)
    return found


def _stolen_seconds() -> float:
    """Of all CPUs, since the machine was started; 0 where unknown."""
    if not _TIMES.exists():
        return 0.0
    fields = _TIMES.read_text(encoding="ascii").split(maxsplit=9)
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")
