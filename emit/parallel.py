# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel loops in grains (chunks of steps), or serial loops if waking a thread takes as long as the work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from ..bindings.ir import Value
from ..support.context import holding
from .linalg import indices_at, product
from .loops import Body, Carried, Returned, for_range, nest
from .numbers import Number, Size, as_index, ceil_divided, maximum, minimum, select

#: Nanoseconds. With less total work, threads would mostly wait for each other; with a smaller grain, for the counter.
LEAST_WORK, LEAST_GRAIN = 20_000, 5_000
#: Smallest number of grains, for any number of cores.
FEWEST_GRAINS = 32
#: Fixed-point unit of a nanosecond at run time.
UNIT = 1024
#: Enough for any grain: products stay in 64 bits.
MOST_WORK = 1 << 40
#: Floating-point operations that a core does per nanosecond, in products of blocks in its cache.
FLOPS = 128


def share_steps(steps: Size, flops: Size, body: Body, *carried: Value) -> Any:
    """Emit `loops.for_range(0, steps, body, *carried)`, shared among threads if that pays off.

    No step may read an element that another step writes. Each step takes `flops` floating-point operations.
    """
    if _are_apart.get():
        return for_range(0, steps, body, *carried, grain=1)
    if isinstance(steps, int) and isinstance(flops, int):
        return for_range(0, steps, body, *carried, grain=_known_grain(steps, flops / FLOPS))
    work = maximum(minimum(as_index(flops), MOST_WORK // UNIT) * (UNIT // FLOPS), 1)
    share = lambda start, count, *values: for_range(start, start + count, body, *values)  # noqa: E731
    return _share_grains(steps, grain_of(maximum(as_index(steps), 1), work), share, *carried)


def share_ranges(steps: Size, nanoseconds: float | Size, part: Body, *carried: Value) -> Any:
    """Emit `part(start, count, *carried)` for ranges of steps, shared among threads.

    `nanoseconds` is the time of a step.
    """
    if isinstance(steps, int) and isinstance(nanoseconds, (int, float)):
        return _share_grains(steps, _known_grain(steps, nanoseconds) or max(steps, 1), part, *carried)
    each = math.ceil(nanoseconds) if isinstance(nanoseconds, float) else nanoseconds
    work = maximum(minimum(as_index(each), MOST_WORK // UNIT) * UNIT, 1)
    return _share_grains(steps, grain_of(maximum(as_index(steps), 1), work), part, *carried)


def share_places(bounds: Sequence[Size], body: Body) -> None:
    """Emit `loops.nest(bounds, body)`, where no point accesses an element that another point writes.

    If each thread takes one step (`steps_apart`), threads share the points.
    """
    if not _are_apart.get():
        nest(bounds, body)
        return
    for_range(0, product(bounds), lambda place: body(*indices_at(place, bounds)), grain=1)


def is_shared(steps: int, nanoseconds: float) -> bool:
    """Return True if `steps` steps, of this many nanoseconds each, are worth threads."""
    grain = _known_grain(steps, nanoseconds)
    return grain is not None and grain < steps


#: True if each step gets its own thread, without a cost estimate of grains.
_are_apart: ContextVar[bool] = ContextVar("_are_apart", default=False)


def are_steps_apart() -> bool:
    return _are_apart.get()


def steps_apart(are_apart: bool) -> AbstractContextManager[None]:
    """Give each shared step its own range, if requested, while the context manager is active."""
    return holding(_are_apart, are_apart)


def _share_grains(steps: Size, grain: Size, part: Body, *carried: Value) -> Carried:
    if _are_apart.get():
        return for_range(0, steps, lambda start, *values: part(start, 1, *values), *carried, grain=1)
    is_even = isinstance(steps, int) and isinstance(grain, int) and steps % grain == 0

    def share(start: Number, *values: Value) -> Returned:
        return part(start, grain if is_even else minimum(grain, as_index(steps) - start), *values)

    return for_range(0, steps, share, *carried, step=grain, grain=1)


def _known_grain(steps: int, nanoseconds: float) -> int | None:
    if steps < 2 or steps * nanoseconds < LEAST_WORK:
        return None
    return max(math.ceil(LEAST_GRAIN / nanoseconds), math.ceil(steps / FEWEST_GRAINS))


def grain_of(steps: Number, work: Number) -> Number:
    """Return the steps that a thread takes at a time, by the work of each; all steps if threads do not pay off."""
    fewest = maximum(ceil_divided(as_index(LEAST_GRAIN * UNIT), work), ceil_divided(steps, FEWEST_GRAINS))
    is_little = minimum(steps, MOST_WORK // LEAST_WORK) * work < LEAST_WORK * UNIT
    return select(is_little, steps, fewest)
