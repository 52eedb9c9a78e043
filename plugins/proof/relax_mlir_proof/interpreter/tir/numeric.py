# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of floats and integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.elements import NotKnown
from relax_mlir.passes.evaluate.references import register_reference

if TYPE_CHECKING:
    from numpy import ndarray


@register_reference("tir.abs")
def absolute(call: object, x: ndarray) -> ndarray:
    return numpy.abs(x)


@register_reference("tir.sign")
def sign(call: object, x: ndarray) -> ndarray:
    return numpy.sign(x)


@register_reference("tir.square")
def square(call: object, x: ndarray) -> ndarray:
    return x * x


def _require_divisors(x2: ndarray) -> None:
    """Raise NotKnown for an integer division by 0, which is undefined."""
    if x2.dtype.kind in "iu" and not numpy.all(x2):
        raise NotKnown


@register_reference("tir.floordiv")
def floordiv(call: object, x1: ndarray, x2: ndarray) -> ndarray:
    _require_divisors(x2)
    return numpy.floor_divide(x1, x2)


@register_reference("tir.floormod")
def floormod(call: object, x1: ndarray, x2: ndarray) -> ndarray:
    _require_divisors(x2)
    return numpy.mod(x1, x2)


@register_reference("tir.clip")
def clip(call: object, x: ndarray, low: ndarray, high: ndarray) -> ndarray:
    above = numpy.where(x < low, low, x)
    return numpy.where(high < above, high, above)
