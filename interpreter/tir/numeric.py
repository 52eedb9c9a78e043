# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of floats and integers alike."""

from __future__ import annotations

from typing import Any

import numpy

from ...passes.evaluate.elements import NotKnown
from ..registry import register_reference


@register_reference("tir.abs")
def absolute(call: object, x: Any) -> Any:
    return numpy.abs(x)


@register_reference("tir.sign")
def sign(call: object, x: Any) -> Any:
    return numpy.sign(x)


@register_reference("tir.square")
def square(call: object, x: Any) -> Any:
    return x * x


def _require_divisors(x2: Any) -> None:
    """An integer divided by 0 is undefined."""
    if x2.dtype.kind in "iu" and not numpy.all(x2):
        raise NotKnown


@register_reference("tir.floordiv")
def floordiv(call: object, x1: Any, x2: Any) -> Any:
    _require_divisors(x2)
    return numpy.floor_divide(x1, x2)


@register_reference("tir.floormod")
def floormod(call: object, x1: Any, x2: Any) -> Any:
    _require_divisors(x2)
    return numpy.mod(x1, x2)


@register_reference("tir.clip")
def clip(call: object, x: Any, low: Any, high: Any) -> Any:
    above = numpy.where(x < low, low, x)
    return numpy.where(high < above, high, above)
