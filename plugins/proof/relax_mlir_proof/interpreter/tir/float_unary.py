# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of one float."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..element_bits import integers_of
from ..held_values import Elements, stored
from ..special_functions import by_element, erf, erfc, gamma, log_gamma, rounded_away, smallest_normal

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def _sin_pi(x: ndarray) -> ndarray:
    """Return sin(pi * x), exact for results that are integers."""
    turn = numpy.fmod(x, 2.0)
    return numpy.where(turn == numpy.rint(turn), numpy.copysign(0.0, turn), numpy.sin(turn * numpy.pi))


def _cos_pi(x: ndarray) -> ndarray:
    turn = numpy.fmod(x, 2.0)
    return numpy.where(numpy.abs(numpy.abs(turn) - 1) == 0.5, 0.0, numpy.cos(turn * numpy.pi))


def _tan_pi(x: ndarray) -> ndarray:
    sine, cosine = _sin_pi(x), _cos_pi(x)
    infinite = numpy.copysign(numpy.inf, numpy.sin(numpy.fmod(x, 2.0) * numpy.pi))
    return numpy.where(cosine == 0, infinite, sine / cosine)


def _sinc(x: ndarray) -> ndarray:
    return numpy.where(x == 0, 1.0, numpy.where(numpy.isinf(x), 0.0, _sin_pi(x) / (x * numpy.pi)))


def _sigmoid(x: ndarray) -> ndarray:
    return 1 / (1 + numpy.exp(-x))


def _bessel(x: float) -> float:
    """Return I0(x) by its series. All terms are positive."""
    if x != x or abs(x) > 700:
        return abs(x) if x != x else float("inf")
    term = total = 1.0
    count = 0
    while term > total * 1e-18:
        count += 1
        term *= (x / 2 / count) ** 2
        total += term
    return total


_FUNCTIONS: dict[str, Callable[[ndarray], Elements]] = {
    "acos": numpy.arccos, "acosh": numpy.arccosh, "asin": numpy.arcsin, "asinh": numpy.arcsinh, "atan": numpy.arctan,
    "atanh": numpy.arctanh, "cos": numpy.cos, "cosh": numpy.cosh, "cospi": _cos_pi, "sin": numpy.sin,
    "sinh": numpy.sinh, "sinpi": _sin_pi, "sinc": _sinc, "tan": numpy.tan, "tanh": numpy.tanh, "tanpi": _tan_pi,
    "deg2rad": numpy.deg2rad, "rad2deg": numpy.rad2deg, "exp": numpy.exp, "exp2": numpy.exp2,
    "exp10": lambda x: numpy.power(10.0, x), "expm1": numpy.expm1, "log": numpy.log, "log2": numpy.log2,
    "log10": numpy.log10, "log1p": numpy.log1p, "sqrt": numpy.sqrt, "rsqrt": lambda x: 1 / numpy.sqrt(x),
    "cbrt": numpy.cbrt, "reciprocal": lambda x: 1 / x, "erf": erf, "erfc": erfc, "tgamma": gamma, "lgamma": log_gamma,
    "i0": by_element(_bessel), "sigmoid": _sigmoid, "ceil": numpy.ceil, "floor": numpy.floor, "trunc": numpy.trunc,
    "round": numpy.rint, "roundeven": numpy.rint, "rint": numpy.rint, "nearbyint": numpy.rint,
    "fabs": numpy.abs,
}  # fmt: skip
for _name, _function in _FUNCTIONS.items():
    register_reference(f"tir.{_name}")(lambda call, x, function=_function: function(x))


@register_reference("tir.exp_below")
def exp_below(call: EvaluationCall, x: ndarray) -> ndarray:
    power = numpy.exp(x)
    return numpy.where(power < smallest_normal(call.result.dtype), 0.0, power)


def _exponent(x: ndarray) -> ndarray:
    """Return the exponents of finite nonzero numbers as floats."""
    return numpy.frexp(x)[1] - 1.0


@register_reference("tir.logb")
def logb(call: object, x: ndarray) -> ndarray:
    return numpy.where(x == 0, -numpy.inf, numpy.where(numpy.isfinite(x), _exponent(x), x * x))


@register_reference("tir.ilogb")
def ilogb(call: object, x: ndarray) -> ndarray:
    """Return the exponent. C leaves special cases open: 0 and NaN yield the lowest number, infinity the highest."""
    found = numpy.where(numpy.isinf(x), 2.0**31 - 1, _exponent(x))
    return numpy.where((x == 0) | numpy.isnan(x), -(2.0**31), found).astype(numpy.int32)


@register_reference("tir.lround")
def lround(call: EvaluationCall, x: ndarray) -> Elements:
    return integers_of(rounded_away(x), call.result.dtype)


@register_reference("tir.lrint")
def lrint(call: EvaluationCall, x: ndarray) -> Elements:
    return integers_of(numpy.rint(x), call.result.dtype)


@register_reference("tir.spacing")
def spacing(call: EvaluationCall, x: ndarray) -> ndarray:
    """Return NumPy's spacing for the element type, with the sign of x."""
    return numpy.spacing(numpy.asarray(x).astype(stored(call.result.dtype))).astype(float)


@register_reference("tir.frexp")
def frexp(call: object, x: ndarray) -> list[ndarray]:
    return list(numpy.frexp(x))


@register_reference("tir.modf")
def modf(call: object, x: ndarray) -> list[ndarray]:
    return list(numpy.modf(x))
