# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost model: rough CPU times of operations, which compare plans, and predict no times."""

from __future__ import annotations

from collections.abc import Iterable

from ....bindings.ir import Operation
from ....dialects.core.symbols import Dim
from ....dialects.core.work import work_of

# Rates of one core, and of memory outside of its caches.
_FLOPS_PER_S, BYTES_PER_S = 5e10, 1e10
#: Seconds for a value that crosses between the target and a codegen, in addition to its bytes: its share of a call.
CROSSING_S = 1e-6
# Size that replaces dynamic sizes.
_USUAL_SIZE = 64


def seconds_of(operations: Iterable[Operation]) -> float:
    """Return the seconds that operations take on the target, bound by arithmetic or by memory."""
    works = [work_of(op.opview) for op in operations]
    return sum(max(estimate(work.flops) / _FLOPS_PER_S, estimate(work.bytes) / BYTES_PER_S) for work in works)


def time_text(seconds: float) -> str:
    """Format a time, which may be negative, for people."""
    unit, factor = ("s", 1) if abs(seconds) >= 1 else ("ms", 1e3) if abs(seconds) >= 1e-3 else ("us", 1e6)
    return f"{seconds * factor:.3g} {unit}"


def estimate(dim: Dim) -> int:
    """Return a size, with a usual one in place of symbols, and 0 if nothing is known."""
    if dim is None or isinstance(dim, int):
        return dim or 0
    return dim.evaluate(dict.fromkeys(dim.variables, _USUAL_SIZE))
