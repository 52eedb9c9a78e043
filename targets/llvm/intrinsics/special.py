# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Error function, functions that belong to no family, and calls of the C library."""

from __future__ import annotations

import math
from collections.abc import Callable

from ....bindings.ir import OpView
from ....emit.arithmetic import bits_of, from_bits
from ....emit.conversions import to_float
from ....emit.extern_calls import call_on_floats, extern_call
from ....emit.numbers import Number, fma, numbers, select
from ....passes.kernels.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic
from .expansion import (
    at_most,
    expansion,
    fitted,
    magnitude,
    nearest_integer,
    power_of_two,
    split,
    square_root,
    two_product,
    with_sign_of,
)
from .exponential import LN_2, LOG2_E, exp_minus_1, exp_of_normal, exp_scaled
from .logarithm import log1p


@expansion("tir.erf", dtypes=("f32",))
def erf_f32(x: Number) -> Number:
    size = magnitude(x)
    near = fma(size, fitted("erf_near_0", x * x), size)
    # From 4 on, erf is 1 to the last bit of f32.
    far = 1.0 - exp_of_normal(fitted("log_erfc", at_most(size, 4.0)))
    # NaN takes the branch for small values.
    return with_sign_of(select(size >= 1.0, far, near), x)


@expansion("tir.erf", dtypes=("f64",))
def erf_f64(x: Number) -> Number:
    size = magnitude(x)
    near = fma(size, fitted("erf_near_0", x * x), size)
    return with_sign_of(select(size < 1.0, near, 1.0 - _erfc_far(at_most(size, 28.0))), x)


def _erfc_far(size: Number) -> Number:
    """Return erfc of a non-negative number: exp(-x**2) / (1 + 2x) times a polynomial."""
    t = (size - 4.0) / (size + 4.0)
    square, rest = two_product(size, size)
    # exp(-square) has a separate scale, so that it does not underflow before the product does.
    e = exp_scaled(-square, 64)
    factor = fitted("scaled_erfc", t) / fma(size, 2.0, 1.0)
    return fma(-e, rest, e) * factor * 2.0**-64


@expansion("tir.erfc", dtypes=("f32",))
def erfc_f32(x: Number) -> Number:
    """Compute exp(-x**2) / (x + 1.75) times a polynomial, all in f32."""
    # From this bound on, the result is 0.
    size = at_most(magnitude(x), 10.1)
    r, n = _minus_square_reduced(size)
    inverse = 1.0 / (size + 1.75)
    # Scaled up, so that a result below the smallest normal number is rounded once, at the end.
    lifted = from_bits(bits_of(inverse) + ((n + 64) << 23), x.element)
    factor = fitted("scaled_erfc_f32", (size - 0.625) * inverse) * lifted
    far = fma(exp_minus_1(r), factor, factor) * 2.0**-64
    return select(x < 0.0, 2.0 - far, far)


def _minus_square_reduced(x: Number) -> tuple[Number, Number]:
    """Return r and the integer n with -x**2 = n * log(2) + r and small r.

    x**2, before its rounding, must be an f32 below 2**9.
    """
    n_float, n = nearest_integer(x * x, -LOG2_E)
    # 2**-16 times an integer of 16 bits; the product with n is exact.
    high = round(LN_2[0] * 2**16) * 2.0**-16
    return fma(n_float, high - LN_2[0], fma(-x, x, n_float * -high)), n


@expansion("tir.erfc", dtypes=("f64",))
def erfc_f64(x: Number) -> Number:
    size = magnitude(x)
    far = _erfc_far(at_most(size, 28.0))
    near = fma(size, fitted("erf_near_0", x * x), size)
    near = 1.0 - with_sign_of(near, x)
    far = select(x < 0.0, 2.0 - far, far)
    return select(size < 0.25, near, far)


@expansion("tir.cbrt", compute_in="f64")
def cbrt(x: Number) -> Number:
    """Divide the exponent by 3 through its bits, then apply Newton's method. |x| is in [sqrt(1/2), sqrt(2)) * 2**e."""
    size = magnitude(x)
    is_tiny = size < 2.0**-1000
    lifted = select(is_tiny, size * 2.0**108, size)
    _, e = split(lifted)
    # Equals e // 3, exact for all exponents.
    third = ((e + 1200) * 21846 >> 16) - 400
    m = lifted * power_of_two(third * -1, x) * power_of_two(third * -1, x) * power_of_two(third * -1, x)
    # In [0.7, 5.7]: the polynomial is within 1 % of the root, and each step doubles the digits.
    root = fitted("cbrt", m)
    for _step in range(3):
        square = root * root
        root = root - (root * square - m) / (square * 3.0)
    # The last correction uses the full residue.
    square, square_rest = two_product(root, root)
    cube, cube_rest = two_product(square, root)
    root = root + ((m - cube) - fma(square_rest, root, cube_rest)) / (square * 3.0)
    y = root * power_of_two(third, x)
    y = select(is_tiny, y * 2.0**-36, y)
    return with_sign_of(select((size > 0.0) & (size < math.inf), y, size), x)


@expansion("tir.hypot", dtypes=("f32",), compute_in="f64")
def hypot_f32(x: Number, y: Number) -> Number:
    return _infinite_if_either(x, y, square_root(fma(x, x, y * y)))


@expansion("tir.hypot", dtypes=("f64",))
def hypot_f64(x: Number, y: Number) -> Number:
    a, b = magnitude(x), magnitude(y)
    larger, smaller = select(a > b, a, b), select(a > b, b, a)
    is_huge, is_tiny = larger > 2.0**500, larger < 2.0**-400
    down = select(is_huge, 2.0**-600, select(is_tiny, larger.constant(2.0**600), 1.0))
    up = select(is_huge, 2.0**600, select(is_tiny, larger.constant(2.0**-600), 1.0))
    larger, smaller = larger * down, smaller * down
    return _infinite_if_either(x, y, square_root(fma(larger, larger, smaller * smaller)) * up)


def _infinite_if_either(x: Number, y: Number, length: Number) -> Number:
    """Return infinity if an operand is infinite, even next to a NaN, as C requires."""
    is_infinite = (magnitude(x) == math.inf) | (magnitude(y) == math.inf)
    return select(is_infinite, math.inf, length)


@expansion("tir.logaddexp", compute_in="f64")
def logaddexp(x: Number, y: Number) -> Number:
    return _log_of_sum(x, y, lambda distance: log1p(exp_scaled(distance)))


@expansion("tir.logaddexp2", compute_in="f64")
def logaddexp2(x: Number, y: Number) -> Number:
    return _log_of_sum(x, y, lambda distance: log1p(exp_scaled(distance * math.log(2))) * (1 / math.log(2)))


def _log_of_sum(x: Number, y: Number, log_of: Callable[[Number], Number]) -> Number:
    """Return the larger operand plus `log_of(smaller - larger)`, the logarithm of 1 and a power."""
    larger, smaller = select(x > y, x, y), select(x > y, y, x)
    total = larger + log_of(select(larger == smaller, 0.0, smaller - larger))
    return select((x == x) & (y == y), total, math.nan)


@expansion("tir.i0", compute_in="f64")
def i0(x: Number) -> Number:
    """Use a polynomial up to 8, and exp(x) / sqrt(x) times a polynomial in 8 / x beyond."""
    size = magnitude(x)
    near = fitted("i0_near_0", at_most(size, 8.0) * at_most(size, 8.0))
    far_size = select(size > 8.0, at_most(size, 720.0), 8.0)
    far = exp_scaled(far_size, -8) * (fitted("i0_far", 16.0 / far_size - 1.0) / square_root(far_size)) * 2.0**8
    return select(size > 8.0, far, select(size == size, near, size))


register_lower_intrinsic(["tir.call_extern", "tir.call_pure_extern"], "llvm")(extern_call)


@register_legalize_intrinsic(["tir.lgamma", "tir.tgamma"], "llvm", dtypes=("f32", "f64"))
def gamma(op: OpView) -> Number:
    """Call the f64 function, because the f32 function is less accurate."""
    (x,) = numbers(op)
    return to_float(call_on_floats(op.operation.name.removeprefix("tir."), [to_float(x, "f64")]), x.dtype)


@register_legalize_intrinsic("tir.remainder", "llvm", dtypes=("f32", "f64"))
def remainder(op: OpView) -> Number:
    return call_on_floats("remainder", numbers(op))
