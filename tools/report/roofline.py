# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What this machine can do on one thread: the arithmetic and the traffic of two small programs that are good at either.

A kernel's share of the roofline is that of whichever of both bounds it more. Traffic is measured for amounts that fit
into the caches and for one that does not: a kernel is held against that of an amount like its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

#: Bytes that a call reads: in the first-level cache, in the second, in the third, in memory.
_AMOUNTS = (1 << 15, 1 << 18, 1 << 22, 1 << 27)
_ROWS = 384  # of a product that fits into the second-level cache and is large enough to be fast
_LEAST_SECONDS, _TRIES = 0.004, 5


@dataclass(frozen=True)
class Roofline:
    """Operations on numbers a second, and bytes a second by the amount that a call works on."""

    flops: float = 0.0
    traffic: Mapping[int, float] = field(default_factory=dict)

    def share(self, flops: int | None, bytes_: int | None, seconds: float) -> float | None:
        """How much of what the machine can do a call reaches; None where its work is not known."""
        if not self.flops or bytes_ is None or seconds <= 0:
            return None
        moving = bytes_ / self.traffic[self._amount_of(bytes_)]
        return max((flops or 0) / self.flops, moving) / seconds

    def holding(self, calls: Iterable[tuple[int | None, int | None, float]]) -> Roofline:
        """Raised to what these calls have reached, so that none is above it: operations, bytes, seconds of each.

        What a kernel has done the machine can do, whatever the small programs got when they were measured.
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
        """The measured amount that stands for this one."""
        large_enough = [amount for amount in self.traffic if amount >= bytes_]
        return min(large_enough, default=max(self.traffic))

    def described(self) -> dict[str, float] | None:
        """For the page; None where nothing was measured."""
        return {"flops": self.flops, "memory": self.traffic[_AMOUNTS[-1]]} if self.flops else None


UNKNOWN = Roofline()


@cache
def measured_roofline() -> Roofline:
    """The roofline of this machine, measured in about a second."""
    import numpy

    from ... import Module, compile, relax, tensor

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
    """A call's time, the best of a few tries."""
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
