# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write targets/llvm/intrinsics/polynomials.json: polynomials that approximate functions on their reduced ranges.

Each interpolates its function at Chebyshev's nodes, in 60 digits, which is within a factor of two of the best possible;
coefficients are then rounded to the element type. Needs mpmath. `--check` only compares with the file.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from generated import main

# Without types, and not among the project's dependencies.
mp: ModuleType = importlib.import_module("mpmath")
Number: TypeAlias = Any
FILE = Path(__file__).resolve().parents[2] / "targets" / "llvm" / "intrinsics" / "polynomials.json"


class Fit(NamedTuple):
    """Function on [low, high], and the polynomial's degree for each element type."""

    function: Callable[[Number], Number]
    low: Number
    high: Number
    degrees: dict[str, int]


def in_square(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """Return the function g with g(x**2) = function(x)."""
    return lambda z: function(mp.sqrt(z))


def scaled_erfc(t: Number) -> Number:
    """Return erfc(x) * exp(x**2) * (1 + 2x) for t = (x - 4) / (x + 4), which maps [0, inf) to [-1, 1)."""
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = 4 * (1 + t) / (1 - t)
    # For large x, where erfc underflows and exp overflows, by the asymptotic series.
    if x > 60:
        series = mp.mpf(1)
        term = mp.mpf(1)
        for k in range(1, 25):
            term *= -(2 * k - 1) / (2 * x * x)
            series += term
        return series / (x * mp.sqrt(mp.pi)) * (1 + 2 * x)
    return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)


def scaled_erfc_f32(t: Number) -> Number:
    """Return erfc(x) * exp(x**2) * (x + 1.75) for t = (x - 0.625) / (x + 1.75)."""
    x = (mp.mpf("1.75") * t + mp.mpf("0.625")) / (1 - t)
    return mp.erfc(x) * mp.exp(x * x) * (x + mp.mpf("1.75"))


def scaled_i0(t: Number) -> Number:
    """Return i0(x) * exp(-x) * sqrt(x)."""
    x = 16 / (t + 1)
    return mp.besseli(0, x) * mp.exp(-x) * mp.sqrt(x)


def fits() -> dict[str, Fit]:
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.001")
    half_log10_2 = mp.log10(2) / 2 * mp.mpf("1.001")
    quarter_pi = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
    s = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    return {
        "exp": Fit(lambda r: (mp.exp(r) - 1 - r) / r**2, -half_ln2, half_ln2, {"f32": 4, "f64": 10}),
        "exp2": Fit(lambda r: (mp.mpf(2) ** r - 1) / r, -mp.mpf("0.501"), mp.mpf("0.501"), {"f32": 6, "f64": 12}),
        # For powers of f32, computed in f64: exponents of f32 make the error of the logarithm 150 times as large.
        "exp2_of_f32": Fit(lambda r: (mp.mpf(2) ** r - 1) / r, -mp.mpf("0.501"), mp.mpf("0.501"), {"f64": 7}),
        "log2_ratio": Fit(in_square(lambda x: mp.log((1 + x) / (1 - x), 2) / x), mp.mpf(0), s**2, {"f64": 5}),
        "exp10": Fit(lambda r: (mp.mpf(10) ** r - 1) / r, -half_log10_2, half_log10_2, {"f32": 6, "f64": 12}),
        "log_ratio": Fit(
            in_square(lambda x: (mp.log((1 + x) / (1 - x)) - 2 * x) / x**3), mp.mpf(0), s**2, {"f32": 3, "f64": 7}
        ),
        "log_ratio_tail": Fit(
            in_square(lambda x: (mp.log((1 + x) / (1 - x)) - 2 * x - 2 * x**3 / 3) / x**5), mp.mpf(0), s**2, {"f64": 7}
        ),
        "log1p": Fit(
            lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, 1 / mp.sqrt(2) - 1, mp.sqrt(2) - 1, {"f32": 8, "f64": 20}
        ),
        "sin": Fit(in_square(lambda r: (mp.sin(r) - r) / r**3), mp.mpf(0), quarter_pi, {"f32": 3, "f64": 6}),
        "cos": Fit(
            in_square(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4), mp.mpf(0), quarter_pi, {"f32": 3, "f64": 6}
        ),
        "atan": Fit(
            in_square(lambda t: (mp.atan(t) - t) / t**3),
            mp.mpf(0),
            (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.0001"),
            {"f32": 5, "f64": 12},
        ),
        "asin": Fit(in_square(lambda x: (mp.asin(x) - x) / x**3), mp.mpf(0), mp.mpf("0.25"), {"f32": 6, "f64": 14}),
        "erf_near_0": Fit(in_square(lambda x: mp.erf(x) / x - 1), mp.mpf(0), mp.mpf(1), {"f32": 7, "f64": 12}),
        "log_erfc": Fit(lambda x: mp.log(mp.erfc(x)), mp.mpf("0.999"), mp.mpf("4.001"), {"f32": 8}),
        "scaled_erfc": Fit(scaled_erfc, mp.mpf(-1), mp.mpf(1), {"f64": 26}),
        # Up to x = 10.1, where erfc vanishes.
        "scaled_erfc_f32": Fit(
            scaled_erfc_f32, mp.mpf("-0.625") / mp.mpf("1.75"), mp.mpf("9.475") / mp.mpf("11.85"), {"f32": 9}
        ),
        "cbrt": Fit(mp.cbrt, mp.mpf("0.7"), mp.mpf("5.7"), {"f64": 4}),
        "i0_near_0": Fit(in_square(lambda x: mp.besseli(0, x)), mp.mpf(0), mp.mpf(64), {"f64": 24}),
        # In t = 16 / x - 1, which maps [8, inf) to (-1, 1].
        "i0_far": Fit(scaled_i0, mp.mpf(-1), mp.mpf(1), {"f64": 26}),
    }


def interpolate(function: Callable[[Number], Number], low: Number, high: Number, degree: int) -> list[Number]:
    """Return coefficients, the constant one first, of the polynomial through the function at Chebyshev's nodes."""
    count = degree + 1
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    # Newton's divided differences, then Horner's scheme over them. A node may be nearly 0, where most of these
    # functions cancel nearly all digits.
    with mp.workdps(400):
        table = [function(node) for node in nodes]
    for level in range(1, count):
        for k in range(count - 1, level - 1, -1):
            table[k] = (table[k] - table[k - 1]) / (nodes[k] - nodes[k - level])
    coefficients = [table[-1]]
    for k in range(count - 2, -1, -1):
        shifted = [mp.mpf(0), *coefficients]
        for index, value in enumerate(coefficients):
            shifted[index] -= nodes[k] * value
        shifted[0] += table[k]
        coefficients = shifted
    return coefficients


def rounded(value: Number, dtype: str) -> float:
    bits = {"f32": 24, "f64": 53}[dtype]
    with mp.workprec(bits):
        return float(+value)


def generate() -> str:
    mp.mp.dps = 60
    tables = {
        name: {
            dtype: [rounded(value, dtype) for value in interpolate(fit.function, fit.low, fit.high, degree)]
            for dtype, degree in fit.degrees.items()
        }
        for name, fit in fits().items()
    }
    return json.dumps(tables, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main(__doc__, lambda: {FILE: generate()}, "tools/dev/gen_polynomials.py"))
