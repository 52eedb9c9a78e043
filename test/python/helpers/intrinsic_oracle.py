# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expected results of float intrinsics, by numpy in its longest float and by scipy, and distances in ulp."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import scipy.special

Array = Any
LONG = np.longdouble
PI = LONG(np.pi) + LONG(1.2246467991473532e-16)


class Oracle(NamedTuple):
    """Reference function, its number of operands, and the tolerance of results in ulp."""

    function: Callable[..., Array]
    operands: int = 1
    bound: float = 4.0


def _in_f64(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *arrays: function(*(array.astype(np.float64) for array in arrays))


def _sinpi(x: Array) -> Array:
    x = np.fmod(x, LONG(2))
    return np.where(x == np.rint(x), np.copysign(0, x), np.sin(x * PI))


def _cospi(x: Array) -> Array:
    x = np.fmod(x, LONG(2))
    return np.where(np.abs(np.abs(x) - 1) == 0.5, 0, np.cos(x * PI))


def _tanpi(x: Array) -> Array:
    cosine = _cospi(x)
    return np.where(cosine == 0, np.copysign(np.inf, np.sin(np.fmod(x, LONG(2)) * PI)), _sinpi(x) / cosine)


def _sinc(x: Array) -> Array:
    return np.where(x == 0, 1, np.where(np.isinf(x), 0, _sinpi(x) / (x * PI)))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _heaviside(x: Array, y: Array) -> Array:
    return np.heaviside(x, y)


def _by_math(function: Callable[..., float]) -> Callable[..., Array]:
    """Return a function of Python's floats as a function of arrays."""
    return _in_f64(np.vectorize(function, otypes=[np.float64]))


def _c_remainder(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return math.nan
    return math.remainder(x, y)


ORACLES = {
    "exp": Oracle(np.exp),
    "exp2": Oracle(np.exp2),
    "exp10": Oracle(lambda x: LONG(10) ** x),
    "expm1": Oracle(np.expm1),
    "log": Oracle(np.log),
    "log2": Oracle(np.log2),
    "log10": Oracle(np.log10),
    "log1p": Oracle(np.log1p),
    "sin": Oracle(np.sin),
    "cos": Oracle(np.cos),
    "tan": Oracle(np.tan),
    "asin": Oracle(np.arcsin),
    "acos": Oracle(np.arccos),
    "atan": Oracle(np.arctan),
    "sinh": Oracle(np.sinh),
    "cosh": Oracle(np.cosh),
    "tanh": Oracle(np.tanh),
    "asinh": Oracle(np.arcsinh),
    "acosh": Oracle(np.arccosh),
    "atanh": Oracle(np.arctanh),
    "sinpi": Oracle(_sinpi),
    "cospi": Oracle(_cospi),
    "tanpi": Oracle(_tanpi),
    "sinc": Oracle(_sinc),
    "cbrt": Oracle(np.cbrt),
    "sigmoid": Oracle(_sigmoid),
    # The reference function has the same error.
    "erf": Oracle(_by_math(math.erf), bound=8),
    "erfc": Oracle(_by_math(math.erfc), bound=8),
    "i0": Oracle(_in_f64(scipy.special.i0), bound=10),
    "tgamma": Oracle(_in_f64(scipy.special.gamma), bound=16),
    "lgamma": Oracle(_in_f64(scipy.special.gammaln), bound=16),
    "sqrt": Oracle(np.sqrt, bound=0.5),
    "rsqrt": Oracle(lambda x: 1 / np.sqrt(x)),
    "reciprocal": Oracle(lambda x: 1 / x, bound=0.5),
    "deg2rad": Oracle(lambda x: x * (PI / 180), bound=1),
    "rad2deg": Oracle(lambda x: x * (180 / PI), bound=1),
    "fabs": Oracle(np.abs, bound=0),
    "abs": Oracle(np.abs, bound=0),
    "sign": Oracle(np.sign, bound=0),
    "square": Oracle(np.square, bound=0.5),
    "ceil": Oracle(np.ceil, bound=0),
    "floor": Oracle(np.floor, bound=0),
    "trunc": Oracle(np.trunc, bound=0),
    "round": Oracle(np.rint, bound=0),
    "roundeven": Oracle(np.rint, bound=0),
    "rint": Oracle(np.rint, bound=0),
    "nearbyint": Oracle(np.rint, bound=0),
    "logb": Oracle(lambda x: np.where(np.isfinite(x), np.floor(np.log2(np.abs(x))), x * x), bound=0),
    "pow": Oracle(np.power, 2),
    "atan2": Oracle(np.arctan2, 2),
    "hypot": Oracle(np.hypot, 2),
    "fmod": Oracle(np.fmod, 2, bound=0),
    "fmin": Oracle(np.fmin, 2, bound=0),
    "fmax": Oracle(np.fmax, 2, bound=0),
    "fdim": Oracle(lambda x, y: np.where(x <= y, 0, x - y), 2, bound=0.5),
    "copysign": Oracle(np.copysign, 2, bound=0),
    "heaviside": Oracle(_heaviside, 2, bound=0),
    "logaddexp": Oracle(np.logaddexp, 2),
    "logaddexp2": Oracle(np.logaddexp2, 2),
    "floormod": Oracle(lambda x, y: np.where(y == 0, math.nan, np.mod(x, y)), 2, bound=1),
    "remainder": Oracle(_by_math(_c_remainder), 2, bound=0),
    "fma": Oracle(lambda x, y, z: x * y + z, 3, bound=0.51),
    "clip": Oracle(lambda x, a, b: np.where(x < a, a, x) * 1, 3, bound=0),
}


def spacing(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return the distance to the next number, as LONG."""
    info = ml_dtypes.finfo(dtype)
    _, exponent = np.frexp(np.abs(values.astype(LONG)))
    smallest = LONG(float(info.smallest_subnormal))
    return np.maximum(np.ldexp(LONG(1), exponent - info.nmant - 1), smallest)


def distance(got: Array, expected: Array) -> Array:
    """Return the distance between results and expected values in ulp of the latter.

    The distance is infinite where only one of them is NaN or infinite.
    """
    dtype = got.dtype
    rounded = expected.astype(dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got.astype(LONG)) & np.isfinite(rounded.astype(LONG))
    safe = np.where(finite, expected, 0)
    ulps = np.abs(np.where(finite, got.astype(LONG), 0) - safe) / spacing(safe, dtype)
    # Next to infinity one may be rounded to it and the other one not.
    return np.where(same, np.minimum(ulps, 0.5) * finite, np.where(finite, ulps, np.inf))


#: How many of the last samples are special.
SPECIAL = 32


def samples(dtype: np.dtype[Any], count: int, seed: int) -> Array:
    """Random bit patterns, numbers of everyday sizes, special values."""
    rng = np.random.default_rng(seed)
    bits = np.dtype(f"u{dtype.itemsize}")
    patterns = rng.integers(0, np.iinfo(bits).max, count, dtype=bits, endpoint=True).view(dtype)
    info = ml_dtypes.finfo(dtype)
    small, tiny, largest = float(info.smallest_subnormal), float(info.tiny), float(info.max)
    positive = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 10.0, 100.0, small, tiny, largest, math.inf, math.nan]
    special = np.array([*positive, *(-value for value in positive)])
    everyday = np.concatenate(
        [rng.standard_normal(count), rng.standard_normal(count) * 10, rng.uniform(-90, 90, count)]
    )
    return np.concatenate([patterns, everyday.astype(dtype), special.astype(dtype)])


# Random bit patterns are too far out for these: C's and scipy's own are wrong there, or disagree.
EVERYDAY = frozenset({"lgamma", "tgamma", "logaddexp", "logaddexp2", "i0", "remainder", "floormod"})


def operands_for(name: str, dtype: np.dtype[Any]) -> list[Array]:
    """Return samples in the range where the oracle is reliable. Special values are combined with each other."""
    count = 300 if dtype == np.float64 else 400
    oracle = ORACLES[name]
    arrays = [samples(dtype, count, seed) for seed in range(oracle.operands)]
    if name in EVERYDAY:
        arrays = [array[count : count + 3 * count] for array in arrays]
        arrays = [np.where(np.abs(array.astype(np.float64)) < 30, array, array.dtype.type(2.5)) for array in arrays]
    if name in ("lgamma", "tgamma", "logaddexp", "logaddexp2"):
        # Results near 0 have an absolute error only.
        arrays = [np.abs(array) + array.dtype.type(2.25) for array in arrays]
    if name == "clip":
        arrays[2] = np.full_like(arrays[2], np.inf)
    # Each operand's special values, which come last, meet the others'.
    rolled = [np.roll(array, 7 * index) for index, array in enumerate(arrays)]
    specials = np.meshgrid(*(array[-SPECIAL:] for array in arrays))
    return [np.concatenate([array, special.ravel()]) for array, special in zip(rolled, specials, strict=True)]
