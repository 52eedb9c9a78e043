# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges by Python's rules: slices, of which some bounds are known at run time only, and how long a range is."""

from __future__ import annotations

from typing import Any

from ..dialects.tir import dialect as tir
from . import linalg, loops, scalar
from .conversions import element
from .indices import from_end

_TOO_MANY = "the steps lead nowhere, or there are more of them than a tensor can have"


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


# ---- lengths ----


def step_count(start: Any, end: Any, step: Any, dtype: str) -> Any:
    """How many steps lead from a start to before an end, an i64; `dtype` is i64 or f64.

    Raises ValueError for a step of 0 and too many steps.
    """
    zero = scalar.constant(0, step.type)
    loops.require(scalar.compare("!=", step, zero, dtype), "ValueError", "the step must not be zero")
    return _integer_count(start, end, step) if dtype == "i64" else _float_count(start, end, step)


def _integer_count(start: Any, end: Any, step: Any) -> Any:
    """By magnitudes: a difference of signed numbers may not fit, but without sign it does."""
    zero, one = scalar.constant(0, step.type), scalar.constant(1, step.type)
    is_up = scalar.compare(">", step, zero, "i64")
    low, high = scalar.select(is_up, start, end), scalar.select(is_up, end, start)
    stride = scalar.select(is_up, step, scalar.subtract(zero, step, "i64"))
    last = scalar.subtract(scalar.subtract(high, low, "i64"), one, "i64")
    steps = scalar.add(scalar.divide(last, stride, "ui64"), one, "i64")
    found = scalar.select(scalar.compare("<", low, high, "i64"), steps, zero)
    loops.require(scalar.compare(">=", found, zero, "i64"), "ValueError", _TOO_MANY)
    return found


def _float_count(start: Any, end: Any, step: Any) -> Any:
    quotient = tir.ops["ceil"](scalar.divide(scalar.subtract(end, start, "f64"), step, "f64"))
    # False for NaN too.
    fits = scalar.compare("<", quotient, scalar.constant(2.0**63, quotient.type), "f64")
    loops.require(fits, "ValueError", _TOO_MANY)
    zero = scalar.constant(0, quotient.type)
    is_some = scalar.compare(">", quotient, zero, "f64")
    return scalar.create("arith.fptosi", scalar.select(is_some, quotient, zero), type_=element("i64"))
