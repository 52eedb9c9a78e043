# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of special functions: Chebyshev series, and common functions of tir."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..numbers import Number, intrinsic, select, unary


def in_f64(function: Callable[..., Number]) -> Callable[..., Number]:
    """Return the function for numbers of any float type, computed in f64. Other arguments are passed unchanged."""

    @functools.wraps(function)
    def wide(*given: Any) -> Number:
        made = function(*(each.to("f64") if isinstance(each, Number) else each for each in given))
        return made.to(given[0].dtype)

    return wide


def series(name: str, x: Number, low: float, high: float) -> Number:
    """Evaluate a series of expansions.json at x, which is in [low, high]."""
    t = (x - (low + high) / 2) * (2 / (high - low))
    double = t + t
    first, *others = _tables()[name]
    last = before = x.constant(0.0)
    for coefficient in reversed(others):
        last, before = intrinsic("fma", double, last, coefficient - before), last
    return intrinsic("fma", t, last, first - before)


@functools.cache
def _tables() -> dict[str, list[float]]:
    tables: dict[str, list[float]] = json.loads(Path(__file__).with_name("expansions.json").read_text())
    return tables


def size_of(x: Number) -> Number:
    return unary("math.absf", x)


def exp(x: Number) -> Number:
    return intrinsic("exp", x)


def log(x: Number) -> Number:
    return intrinsic("log", x)


def sqrt(x: Number) -> Number:
    return intrinsic("sqrt", x)


def at_most(x: Number, limit: float) -> Number:
    """Return min(x, limit). NaN becomes the limit."""
    return select(x < limit, x, limit)


def at_least(x: Number, limit: float) -> Number:
    """Return max(x, limit). NaN becomes the limit."""
    return select(x > limit, x, limit)


def is_nan(x: Number) -> Number:
    return x != x
