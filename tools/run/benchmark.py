# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ...runtime.noise import percentile


def measure(call: Callable[[], object], repeat: int = 100, warmup: int = 10) -> list[float]:
    """Seconds of each call, sorted."""
    for _ in range(warmup):
        call()
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)


def report(seconds: Sequence[float]) -> str:
    """The times on a line, in a unit that suits them."""
    unit, factor = ("ms", 1e3) if percentile(seconds, 50) >= 1e-3 else ("us", 1e6)
    shown = [("median", 50), ("p90", 90), ("p99", 99)]
    parts = [f"{name} {percentile(seconds, share) * factor:.2f}" for name, share in shown]
    calls = "1 call" if len(seconds) == 1 else f"{len(seconds)} calls"
    return f"{calls}: {', '.join(parts)}, min {seconds[0] * factor:.2f} {unit}\n"
