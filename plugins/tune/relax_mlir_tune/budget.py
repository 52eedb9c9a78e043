# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of a search, divided among kernels by their share of the program's time."""

from __future__ import annotations

from time import monotonic as now

#: Share of a kernel's time for the trials of its search. The rest is for the turns that choose the winner.
_SEARCHED = 0.85


class Budget:
    """Seconds until a limit. Each kernel gets a part; time that one leaves is divided among the next ones."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else now() + seconds
        self._end_of_kernel = self._end

    def begin(self, share: float, rest: float) -> None:
        """Begin a kernel with its share, out of the sum of the shares that are left, its own included."""
        if self._end is not None:
            part = max(self._count_left(self._end), 0.0) * min(share / rest, 1.0)
            self._end_of_kernel = now() + part * _SEARCHED

    def is_over(self) -> bool:
        """Check whether the kernel's time for trials is over."""
        return self._end_of_kernel is not None and now() >= self._end_of_kernel

    @property
    def seconds_left(self) -> float | None:
        return None if self._end is None else max(self._count_left(self._end), 0.0)

    def _count_left(self, end: float) -> float:
        return end - now()
