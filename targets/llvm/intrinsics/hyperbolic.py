# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sinh, cosh and the inverse hyperbolic functions, in f64, from exp, expm1, log and log1p."""

from __future__ import annotations

import math

from ....emit.numbers import Number, select
from .expansion import expansion, magnitude, square_root, with_sign_of
from .exponential import LN_2, exp_scaled, expm1
from .logarithm import log, log1p


@expansion("tir.sinh", compute_in="f64")
def sinh(x: Number) -> Number:
    size = magnitude(x)
    e = expm1(size)
    near = 0.5 * (e + e / (e + 1.0))
    return with_sign_of(select(size < 22.0, near, exp_scaled(size, -1)), x)


@expansion("tir.cosh", compute_in="f64")
def cosh(x: Number) -> Number:
    half = exp_scaled(magnitude(x), -1)
    return half + 0.25 / half


@expansion("tir.asinh", compute_in="f64")
def asinh(x: Number) -> Number:
    size = magnitude(x)
    square = size * size
    near = log1p(size + square / (square_root(square + 1.0) + 1.0))
    return with_sign_of(select(size < 2.0**28, near, log(size) + LN_2[0]), x)


@expansion("tir.acosh", compute_in="f64")
def acosh(x: Number) -> Number:
    above = x - 1.0
    near = log1p(above + square_root(above * above + above * 2.0))
    y = select(x < 2.0**28, near, log(x) + LN_2[0])
    return select(x < 1.0, math.nan, y)


@expansion("tir.atanh", compute_in="f64")
def atanh(x: Number) -> Number:
    size = magnitude(x)
    return with_sign_of(log1p(size * 2.0 / (1.0 - size)) * 0.5, x)
