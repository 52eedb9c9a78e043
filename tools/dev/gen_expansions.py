# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write emit/special/expansions.json: Chebyshev series of special functions on parts of their ranges.

Coefficients are computed from values in 40 digits. A series ends where the rest is below an f64's last bit. Needs
mpmath. `--check` only compares with the file.
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
FILE = Path(__file__).resolve().parents[2] / "emit" / "special" / "expansions.json"
_MOST = 64


class Series(NamedTuple):
    """Function of a variable in [low, high]."""

    function: Callable[[Number], Number]
    low: Number
    high: Number


def scaled_erfc(t: Number) -> Number:
    """Return erfc(x) * exp(x**2) * (1 + 2x) for t = (x - 4) / (x + 4), which maps [0, inf) to [-1, 1)."""
    x = 4 * (1 + t) / (1 - t)
    if x > 60:  # by the asymptotic series
        total = term = mp.mpf(1)
        for k in range(1, 30):
            term *= -(2 * k - 1) / (2 * x * x)
            total += term
        return total / (x * mp.sqrt(mp.pi)) * (1 + 2 * x)
    return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)


def inverse_erfc(s: Number) -> Number:
    """Return the x with log(erfc(x)) = -s**2, divided by s."""
    wanted = -s * s

    def distance(x: Number) -> Number:
        return mp.log(mp.erfc(x)) - wanted

    return mp.findroot(distance, s * mp.mpf("0.97") if s > 2 else s * mp.mpf("0.6")) / s


def _phase(x: Number, order: int) -> Number:
    return x - mp.pi * (2 * order + 1) / 4


def _wave(order: int, z: Number) -> tuple[Number, Number, Number]:
    """Return x, and the Bessel functions of both kinds divided by their amplitude, for z = (8 / x)**2."""
    x = 8 / mp.sqrt(z)
    scale = mp.sqrt(mp.pi * x / 2)
    return x, scale * mp.besselj(order, x), scale * mp.bessely(order, x)


def even_wave(order: int) -> Callable[[Number], Number]:
    def function(z: Number) -> Number:
        x, first, second = _wave(order, z)
        return first * mp.cos(_phase(x, order)) + second * mp.sin(_phase(x, order))

    return function


def odd_wave(order: int) -> Callable[[Number], Number]:
    def function(z: Number) -> Number:
        x, first, second = _wave(order, z)
        return (second * mp.cos(_phase(x, order)) - first * mp.sin(_phase(x, order))) * x / 8

    return function


def _airy_wave(z: Number) -> tuple[Number, Number, Number]:
    """Return zeta, and both functions of -x divided by their amplitude, for z = 1 / zeta**2 and zeta = 2/3 * x**1.5."""
    zeta = 1 / mp.sqrt(z)
    x = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
    scale = mp.sqrt(mp.pi) * mp.root(x, 4)
    return zeta, scale * mp.airyai(-x), scale * mp.airybi(-x)


def airy_even_wave(z: Number) -> Number:
    zeta, first, second = _airy_wave(z)
    return first * mp.sin(zeta + mp.pi / 4) + second * mp.cos(zeta + mp.pi / 4)


def airy_odd_wave(z: Number) -> Number:
    zeta, first, second = _airy_wave(z)
    return (second * mp.sin(zeta + mp.pi / 4) - first * mp.cos(zeta + mp.pi / 4)) * zeta


def airy_far(u: Number) -> Number:
    """Return ai(x) * 2 * sqrt(pi) * x**0.25 * exp(zeta) for u = 1 / zeta."""
    x = (3 / (2 * u)) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * mp.root(x, 4) * mp.exp(1 / u)


def _root(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """Return the function g with g(x**2) = function(x)."""
    return lambda z: function(mp.sqrt(z))


def all_series() -> dict[str, Series]:
    farthest = 1 / (2 * mp.mpf(3) ** (mp.mpf(3) / 2) / 3)
    return {
        "erfcx": Series(scaled_erfc, -1, 1),
        "erfinv_near": Series(_root(lambda x: mp.erfinv(x) / x), 0, mp.mpf("0.25")),
        "erfcinv_3": Series(inverse_erfc, mp.mpf("0.8"), 3),
        "erfcinv_8": Series(inverse_erfc, 3, 8),
        "erfcinv_28": Series(inverse_erfc, 8, 28),
        "i0e_near": Series(lambda x: mp.exp(-x) * mp.besseli(0, x), 0, 8),
        "i1e_near": Series(lambda x: mp.exp(-x) * mp.besseli(1, x) / x, 0, 8),
        "i0e_far": Series(lambda u: mp.exp(-16 / u) * mp.besseli(0, 16 / u) * mp.sqrt(16 / u), 0, 2),
        "i1e_far": Series(lambda u: mp.exp(-16 / u) * mp.besseli(1, 16 / u) * mp.sqrt(16 / u), 0, 2),
        "k0_near": Series(_root(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)), 0, 4),
        "k1_near": Series(_root(lambda x: (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)) * x), 0, 4),
        "k0e_far": Series(lambda u: mp.exp(4 / u) * mp.besselk(0, 4 / u) * mp.sqrt(4 / u), 0, 2),
        "k1e_far": Series(lambda u: mp.exp(4 / u) * mp.besselk(1, 4 / u) * mp.sqrt(4 / u), 0, 2),
        "j0_near": Series(_root(lambda x: mp.besselj(0, x)), 0, 64),
        "j1_near": Series(_root(lambda x: mp.besselj(1, x) / x), 0, 64),
        "y0_near": Series(_root(lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)), 0, 64),
        "y1_near": Series(
            _root(lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x), 0, 64
        ),
        "even_wave_0": Series(even_wave(0), 0, 1),
        "odd_wave_0": Series(odd_wave(0), 0, 1),
        "even_wave_1": Series(even_wave(1), 0, 1),
        "odd_wave_1": Series(odd_wave(1), 0, 1),
        "airy_near": Series(mp.airyai, -3, 3),
        "airy_far": Series(airy_far, 0, farthest),
        "airy_even_wave": Series(airy_even_wave, 0, farthest**2),
        "airy_odd_wave": Series(airy_odd_wave, 0, farthest**2),
    }  # fmt: skip


def coefficients(series: Series) -> list[float]:
    """Return the coefficients of Chebyshev polynomials of the variable mapped to [-1, 1]. The first is not halved."""
    middle, half = (mp.mpf(series.high) + series.low) / 2, (mp.mpf(series.high) - series.low) / 2
    angles = [mp.pi * (2 * k + 1) / (2 * _MOST) for k in range(_MOST)]
    values = [series.function(middle + half * mp.cos(angle)) for angle in angles]
    found = [2 * mp.fsum(v * mp.cos(n * a) for v, a in zip(values, angles, strict=True)) / _MOST for n in range(_MOST)]
    found[0] /= 2
    small = max(abs(value) for value in values) * mp.mpf(2) ** -56
    while abs(found[-1]) < small:
        found.pop()
    return [float(each) for each in found]


def generate() -> str:
    mp.mp.dps = 40
    return json.dumps({name: coefficients(series) for name, series in all_series().items()}, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main(__doc__, lambda: {FILE: generate()}, "tools/dev/gen_expansions.py"))
