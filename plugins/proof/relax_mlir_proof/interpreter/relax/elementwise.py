# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators: NumPy's functions, and functions that NumPy lacks.

Integers wrap around. An integer divided by 0 yields 0, and so does the remainder.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import bit_width, is_float, is_unsigned
from relax_mlir.passes.evaluate.references import register_reference

from .element_types import converted

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def _plain(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def plain(call: EvaluationCall, *operands: ndarray) -> ndarray:
        return function(*operands)

    return plain


def _apply_to_floats(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Apply a function to floats. Integers stay unchanged."""

    def of_floats(call: EvaluationCall, x: ndarray) -> ndarray:
        return function(x) if x.dtype.kind == "f" else x

    return of_floats


_ERF = numpy.vectorize(math.erf, otypes=[float])

_PLAIN: dict[str, Callable[..., ndarray]] = {
    # ---- one operand ----
    **{name: getattr(numpy, name) for name in "negative sign square cos cosh sin sinh tan tanh exp log sqrt".split()},
    "abs": numpy.absolute, "acos": numpy.arccos, "acosh": numpy.arccosh, "asin": numpy.arcsin, "asinh": numpy.arcsinh,
    "atan": numpy.arctan, "atanh": numpy.arctanh, "erf": _ERF, "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "rsqrt": lambda x: 1 / numpy.sqrt(x), "bitwise_not": numpy.invert,
    **{name: getattr(numpy, name) for name in "logical_not isfinite isinf isnan".split()},
    # ---- two operands ----
    **{name: getattr(numpy, name) for name in "add subtract multiply maximum minimum equal not_equal less less_equal "
       "greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()},
}  # fmt: skip
for _name, _function in _PLAIN.items():
    register_reference(f"relax.{_name}")(_plain(_function))
for _name, _function in {"ceil": numpy.ceil, "floor": numpy.floor, "round": numpy.rint, "trunc": numpy.trunc}.items():
    register_reference(f"relax.{_name}")(_apply_to_floats(_function))


# ---- division ----


def _apply_to_ints(function: Callable[[int, int], int], of_floats: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Apply a function of Python integers with a nonzero divisor. A zero divisor yields 0."""
    each = numpy.vectorize(lambda x1, x2: function(int(x1), int(x2)) if x2 else 0, otypes=[object])

    def divided(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
        return of_floats(x1, x2) if is_float(call.result.dtype) else _wrap_integers(each(x1, x2), call.result.dtype)

    return divided


def _wrap_integers(integers: ndarray, dtype: str) -> ndarray:
    """Return the low bits of Python integers."""
    low_bits = numpy.asarray(numpy.asarray(integers, object) & (2**64 - 1), object)
    return low_bits.astype(numpy.uint64).astype(numpy.uint64 if is_unsigned(dtype) else numpy.int64)


def _towards_zero(x1: int, x2: int) -> int:
    quotient = abs(x1) // abs(x2)
    return quotient if (x1 < 0) == (x2 < 0) else -quotient


_DIVISIONS: dict[str, tuple[Callable[[int, int], int], Callable[..., ndarray]]] = {
    "divide": (_towards_zero, numpy.divide),
    "floor_divide": (lambda x1, x2: x1 // x2, numpy.floor_divide),
    "mod": (lambda x1, x2: x1 - _towards_zero(x1, x2) * x2, numpy.fmod),
    "floor_mod": (lambda x1, x2: x1 % x2, numpy.remainder),
}
for _name, _functions in _DIVISIONS.items():
    register_reference(f"relax.{_name}")(_apply_to_ints(*_functions))


# ---- powers, logarithms, angles ----


def _integer_power(x1: ndarray, x2: ndarray) -> int:
    """Return x1**x2.

    A negative power is 1 / x1**-x2, truncated: 0 except for 1 and -1. For 0 the result is 0, like all divisions by 0.
    """
    base, exponent = int(x1), int(x2)
    if exponent < 0:
        return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
    return pow(base, exponent, 2**64)


_INTEGER_POWERS = numpy.vectorize(_integer_power, otypes=[object])


@register_reference("relax.power")
def power(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
    if is_float(call.result.dtype):
        return numpy.float_power(x1, x2)  # numpy.power is sqrt for the scalar 0.5, which is NaN for -inf
    return _wrap_integers(_INTEGER_POWERS(x1, x2), call.result.dtype)


def _apply_in_floats(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Apply a function in f64. An integer result is truncated."""

    def of_floats(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
        return converted(function(x1.astype(float), x2.astype(float)), call.result.dtype)

    return of_floats


register_reference("relax.atan2")(_apply_in_floats(numpy.arctan2))
register_reference("relax.log_add_exp")(_apply_in_floats(numpy.logaddexp))


# ---- bits ----


@register_reference("relax.left_shift")
def left_shift(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
    """Shift left. A negative shift, or one of at least the width, shifts all bits out."""
    is_inside = (x2 >= 0) & (x2 < bit_width(call.result.dtype))
    return numpy.where(is_inside, numpy.left_shift(x1, numpy.where(is_inside, x2, 0)), 0)


@register_reference("relax.right_shift")
def right_shift(call: EvaluationCall, x1: ndarray, x2: ndarray) -> ndarray:
    """Shift right. For a negative shift, or one of at least the width, only the sign remains."""
    is_inside = (x2 >= 0) & (x2 < bit_width(call.result.dtype))
    rest = numpy.where(x1 < 0, -1, 0).astype(x1.dtype)
    return numpy.where(is_inside, numpy.right_shift(x1, numpy.where(is_inside, x2, 0)), rest)


# ---- three operands ----


def _multiply_add(x1: float, x2: float, x3: float) -> float:
    plain = x1 * x2 + x3
    if not all(map(math.isfinite, (x1, x2, x3))):
        return plain
    exact = Fraction(x1) * Fraction(x2) + Fraction(x3)
    try:
        return float(exact) if exact else plain  # keeps the sign of a zero
    except OverflowError:
        return math.copysign(math.inf, exact)


_FUSED = numpy.vectorize(lambda *each: _multiply_add(*map(float, each)), otypes=[float])


@register_reference("relax.ewise_fma")
def ewise_fma(call: EvaluationCall, x1: ndarray, x2: ndarray, x3: ndarray) -> ndarray:
    return _FUSED(x1, x2, x3) if is_float(call.result.dtype) else x1 * x2 + x3
