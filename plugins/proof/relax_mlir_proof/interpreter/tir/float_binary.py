# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of two and three floats."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..held_values import Elements, stored
from ..special_functions import by_element, exact_fma, remainder

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

_FUNCTIONS: dict[str, Callable[[ndarray, ndarray], Elements]] = {
    "pow": numpy.float_power, "atan2": numpy.arctan2, "hypot": numpy.hypot, "logaddexp": numpy.logaddexp,
    "logaddexp2": numpy.logaddexp2, "heaviside": numpy.heaviside, "fmod": numpy.fmod, "remainder": remainder,
    "fmin": numpy.fmin, "fmax": numpy.fmax, "copysign": numpy.copysign,
    "fdim": lambda x, y: numpy.where(x <= y, 0.0, x - y),
}  # fmt: skip
for _name, _function in _FUNCTIONS.items():
    register_reference(f"tir.{_name}")(lambda call, x1, x2, function=_function: function(x1, x2))


def _quotient(x: float, y: float) -> float:
    """Return the sign and the three lowest bits of the integer nearest to x / y."""
    if not (numpy.isfinite(x) and numpy.isfinite(y)) or y == 0:
        return 0.0
    nearest = round(Fraction(x) / Fraction(y))
    return float(abs(nearest) % 8 if nearest >= 0 else -(abs(nearest) % 8))


@register_reference("tir.remquo")
def remquo(call: object, x1: ndarray, x2: ndarray) -> list[Elements]:
    return [remainder(x1, x2), by_element(_quotient)(x1, x2).astype(numpy.int32)]


@register_reference("tir.nextafter")
def nextafter(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
    """Return the next number of the element type."""
    held = stored(call.result.dtype)
    return numpy.nextafter(numpy.asarray(x1).astype(held), numpy.asarray(x2).astype(held)).astype(float)


@register_reference(["tir.ldexp", "tir.scalbn"])
def ldexp(call: object, x1: ndarray, x2: ndarray) -> ndarray:
    return numpy.ldexp(x1, numpy.clip(x2, -10000, 10000).astype(numpy.int32))


@register_reference("tir.fma")
def fma(call: EvaluationCall, x1: ndarray, x2: ndarray, x3: ndarray) -> Elements:
    """Compute x1 * x2 + x3, rounded once. Products of narrower floats are exact in f64."""
    return exact_fma(x1, x2, x3) if call.result.dtype == "f64" else x1 * x2 + x3
