# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Length of a slice: Python's rules, for sizes that may be symbolic."""

from __future__ import annotations

from functools import reduce

from ...core.symbols import Dim, ceildiv, dim_add, dim_max, dim_min, dim_sub
from .sizes import at_least, exceeds

# No size reaches it: a bound this large means "to the end", its negation "to the start".
OPEN = 2**63 - 1


def slice_length(begin: Dim, end: Dim, stride: int, size: Dim, inbound: bool = False) -> Dim:
    """Return the length of `x[begin:end:stride]` for x with `size` elements; stride is not 0.

    Bounds below zero count from the end, and bounds outside are clamped. `inbound` promises that no bound is outside.
    """
    # A backward slice goes down from `begin` to just above `end`: the same walk with the ends exchanged.
    top, bottom = (end, begin) if stride > 0 else (begin, end)
    last, first = (size, 0) if stride > 0 else (dim_sub(size, 1), -1)
    uppers = _outermost(top, last, first) or _upper_bounds(top, size, last, inbound)
    lowers = _outermost(bottom, last, first) or _lower_bounds(bottom, size, first, inbound)
    span = _smallest([dim_sub(upper, lower) for upper in uppers for lower in lowers])
    # A bound inside cannot pass a whole side of the dimension.
    if not (inbound and (uppers == [last] or lowers == [first])):
        span = dim_max(span, 0)
    return ceildiv(span, abs(stride))


def _outermost(bound: Dim, last: Dim, first: int) -> list[Dim]:
    """Return the position of an open bound, or an empty list for other bounds."""
    if not isinstance(bound, int) or abs(bound) < OPEN:
        return []
    return [last if bound > 0 else first]


def _upper_bounds(bound: Dim, size: Dim, last: Dim, inbound: bool) -> list[Dim]:
    """Return candidates for the bound's position, which is the smallest of them."""
    if at_least(bound, 0):
        return [bound] if inbound else [bound, last]
    # A position that is too small makes the span negative, which is clamped to 0 like a position at the start.
    return [dim_add(size, bound) if exceeds(0, bound) else None]


def _lower_bounds(bound: Dim, size: Dim, first: int, inbound: bool) -> list[Dim]:
    """Return candidates for the bound's position, which is the largest of them."""
    if at_least(bound, 0):
        return [bound]
    if not exceeds(0, bound):
        return [None]
    return [dim_add(size, bound)] if inbound else [dim_add(size, bound), first]


def _smallest(spans: list[Dim]) -> Dim:
    """Return the minimum of spans. Unknown spans do not matter if another span is empty already."""
    if any(at_least(0, span) for span in spans):
        return 0
    return reduce(dim_min, spans)
