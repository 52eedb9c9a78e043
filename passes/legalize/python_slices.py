# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices by Python's rules, for bounds, strides and sizes of which some are known at run time only."""

from __future__ import annotations

from typing import Any

from . import linalg, loops, scalar
from .indices import from_end


def slice_range(begin: int | Any, end: int | Any, stride: int | Any, size: int | Any) -> tuple[Any, Any]:
    """Where `x[begin:end:stride]` starts and how many elements it takes; numbers or indices, as what is given.

    The stride is not 0. Bounds below 0 count from the end; those outside are moved to the nearest inside.
    """
    given = (begin, end, stride, size)
    if all(isinstance(each, int) for each in given):
        known = range(*slice(begin, end, stride).indices(size))
        # An empty one can start behind the last element, where upstream's operations allow no offset.
        return (known.start if known else 0), len(known)
    return _at_run_time(*(loops.index(each) for each in given))


def _at_run_time(begin: Any, end: Any, stride: Any, size: Any) -> tuple[Any, Any]:
    zero, one, minus_one = (linalg.constant_index(value) for value in (0, 1, -1))
    backward = scalar.compare("<", stride, zero, "index")
    first = scalar.select(backward, minus_one, zero)
    last = scalar.add(size, first, "index")
    start, stop = (_clamped(from_end(bound, size), first, last) for bound in (begin, end))
    span = _minus(scalar.select(backward, start, stop), scalar.select(backward, stop, start))
    # Without sign: then the lowest number, which negation leaves as it is, is right too.
    step = scalar.maximum(scalar.select(backward, _minus(zero, stride), stride), one, "ui64")
    count = scalar.add(scalar.create("arith.divui", _minus(span, one), step), one, "index")
    is_empty = scalar.compare("<=", span, zero, "index")
    return scalar.select(is_empty, zero, start), scalar.select(is_empty, zero, count)


def _minus(left: Any, right: Any) -> Any:
    return scalar.subtract(left, right, "index")


def _clamped(value: Any, low: Any, high: Any) -> Any:
    return scalar.minimum(scalar.maximum(value, low, "index"), high, "index")
