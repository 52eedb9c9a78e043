# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges by Python's rules: slices, of which some bounds are known at run time only, and how long a range is."""

from __future__ import annotations

from . import loops
from .indices import from_end
from .numbers import Number, Size, as_index, convert, divide, element, intrinsic, maximum, minimum, select

_TOO_MANY = "the steps lead nowhere, or there are more of them than a tensor can have"


def slice_range(begin: Size, end: Size, stride: Size, size: Size) -> tuple[Size, Size]:
    """Where `x[begin:end:stride]` starts and how many elements it takes; numbers or indices, as what is given.

    The stride is not 0. Bounds below 0 count from the end; those outside are moved to the nearest inside.
    """
    if isinstance(begin, int) and isinstance(end, int) and isinstance(stride, int) and isinstance(size, int):
        known = range(*slice(begin, end, stride).indices(size))
        # An empty one can start behind the last element, where upstream's operations allow no offset.
        return (known.start if known else 0), len(known)
    return _at_run_time(*(as_index(each) for each in (begin, end, stride, size)))


def _at_run_time(begin: Number, end: Number, stride: Number, size: Number) -> tuple[Number, Number]:
    backward = stride < 0
    first = select(backward, as_index(-1), 0)
    last = size + first
    start, stop = (minimum(maximum(from_end(bound, size), first), last) for bound in (begin, end))
    span = select(backward, start, stop) - select(backward, stop, start)
    # Without sign: then the lowest number, which negation leaves as it is, is right too.
    step = maximum(select(backward, -stride, stride).of("ui64"), 1).of("index")
    count = (span - 1) // step + 1
    is_empty = span <= 0
    return select(is_empty, 0, start), select(is_empty, 0, count)


# ---- lengths ----


def step_count(start: Number, end: Number, step: Number) -> Number:
    """How many steps lead from a start to before an end, an i64; all are i64, or f64.

    Raises ValueError for a step of 0 and too many steps.
    """
    loops.require(step != 0, "ValueError", "the step must not be zero")
    return _float_count(start, end, step) if step.is_float else _integer_count(start, end, step)


def _integer_count(start: Number, end: Number, step: Number) -> Number:
    """By magnitudes: a difference of signed numbers may not fit, but without sign it does."""
    is_up = step > 0
    low, high = select(is_up, start, end), select(is_up, end, start)
    stride = select(is_up, step, -step)
    steps = divide((high - low - 1).of("ui64"), stride) + 1
    found = select(low < high, steps, 0).of("i64")
    loops.require(found >= 0, "ValueError", _TOO_MANY)
    return found


def _float_count(start: Number, end: Number, step: Number) -> Number:
    quotient = intrinsic("ceil", (end - start) / step)
    # False for NaN too.
    loops.require(quotient < 2.0**63, "ValueError", _TOO_MANY)
    return convert("arith.fptosi", select(quotient > 0, quotient, 0), element("i64"))
