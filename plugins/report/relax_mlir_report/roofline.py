# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of this machine on one thread: arithmetic and memory traffic of two small programs.

A kernel's share of the roofline is the share of the limit that bounds it more. Traffic is measured for amounts that fit
into each cache and for one that fits into none. A kernel is compared with an amount like its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

#: Bytes read by a call: in the first-level cache, the second, the third, and memory.
_AMOUNTS = (1 << 15, 1 << 18, 1 << 22, 1 << 27)
_ROWS = 384  # rows of a product that fits into the second-level cache and is large enough to be fast
_LEAST_SECONDS, _TRIES = 0.004, 5


@dataclass(frozen=True)
class Roofline:
    """Float operations per second, and bytes per second by the amount of data of a call."""

    flops: float = 0.0
    traffic: Mapping[int, float] = field(default_factory=dict)

    def share(self, flops: int | None, bytes_: int | None, seconds: float) -> float | None:
        """Return the share of the machine's limit that a call reaches, or None if its work is unknown."""
        if not self.flops or bytes_ is None or seconds <= 0:
            return None
        moving = bytes_ / self.traffic[self._amount_of(bytes_)]
        return max((flops or 0) / self.flops, moving) / seconds

    def holding(self, calls: Iterable[tuple[int | None, int | None, float]]) -> Roofline:
        """Return the roofline raised to the throughput of calls (operations, bytes, seconds), so that none exceeds it.

        A kernel proves what the machine can do, regardless of the measurement of the small programs.
        """
        if not self.flops:
            return self
        flops, traffic = self.flops, dict(self.traffic)
        for done, moved, seconds in calls:
            if moved is None or seconds <= 0:
                continue
            flops = max(flops, (done or 0) / seconds)
            amount = self._amount_of(moved)
            traffic[amount] = max(traffic[amount], moved / seconds)
        return Roofline(flops, traffic)

    def _amount_of(self, bytes_: int) -> int:
        """Return the smallest measured amount that is at least as large."""
        return min([amount for amount in self.traffic if amount >= bytes_], default=max(self.traffic))

    def described(self) -> dict[str, float] | None:
        """Return the limits for the page, or None if nothing was measured."""
        return {"flops": self.flops, "memory": self.traffic[_AMOUNTS[-1]]} if self.flops else None


UNKNOWN = Roofline()


@cache
def measured_roofline() -> Roofline:
    """Measure the roofline of this machine in about a second."""
    import numpy
    from relax_mlir import Module, compile, relax, tensor

    module = Module()
    square = tensor((_ROWS, _ROWS))
    with module.function("product", [square, square]) as f:
        f.returns(relax.matmul(*f))
    with module.function("total", [tensor(("n",))]) as f:
        f.returns(relax.sum(*f))
    program = compile(module)
    matrix = numpy.ones((_ROWS, _ROWS), "float32")
    flops = 2 * _ROWS**3 / _seconds(lambda: program["product"](matrix, matrix))
    traffic = {}
    for amount in _AMOUNTS:
        numbers = numpy.ones(amount // 4, "float32")
        traffic[amount] = amount / _seconds(partial(program["total"], numbers))
    return Roofline(flops, traffic)


def _seconds(call: Callable[[], object]) -> float:
    """Return the time of a call, the best of a few tries."""
    call()
    start = time.perf_counter()
    call()
    repeat = max(1, int(_LEAST_SECONDS / max(time.perf_counter() - start, 1e-9)))
    best = float("inf")
    for _ in range(_TRIES):
        start = time.perf_counter()
        for _ in range(repeat):
            call()
        best = min(best, (time.perf_counter() - start) / repeat)
    return best
