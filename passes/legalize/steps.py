# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits how many steps lead from a start to before an end, for values known at run time only."""

from __future__ import annotations

from typing import Any

from ...dialects.tir import dialect as tir
from . import loops, scalar
from .casts import element

_TOO_MANY = "the steps lead nowhere, or there are more of them than a tensor can have"


def count(start: Any, end: Any, step: Any, dtype: str) -> Any:
    """The number of steps, an i64; `dtype` is i64 or f64. Raises ValueError for a step of 0 and too many steps."""
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
