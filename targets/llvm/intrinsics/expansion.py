# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared parts of intrinsic expansions: registration, polynomials, and decomposition of floats."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ....bindings.ir import OpView
from ....emit.arithmetic import bits_of, convert, from_bits
from ....emit.conversions import to_float
from ....emit.numbers import Number, fma, numbers, operation, polynomial, select, unary
from ....emit.small_floats import MACHINE_FLOATS, FloatFormat
from ....passes.kernels.intrinsics.registry import register_legalize_intrinsic

Function = Callable[..., Number]

_DTYPES = ("f32", "f64")


class Expansion(NamedTuple):
    """Rule of an intrinsic, which other targets may register for themselves."""

    name: str
    rule: Callable[[OpView], Number]
    dtypes: tuple[str, ...]
    fast_math: bool


#: All expansions of the modules that are imported.
EXPANSIONS: list[Expansion] = []


def expansion(
    name: str, *, dtypes: tuple[str, ...] = _DTYPES, compute_in: str = "", fast_math: bool = False
) -> Callable[[Function], Function]:
    """Register a function on Numbers as an intrinsic's expansion on llvm, for f32 and f64 or the given types.

    `compute_in="f64"`: widen an f32 operand for the function and round its result.
    """

    def register(function: Function) -> Function:
        @functools.wraps(function)
        def rule(op: OpView) -> Number:
            operands = numbers(op)
            dtype = operands[0].dtype
            return to_float(function(*(to_float(operand, compute_in or dtype) for operand in operands)), dtype)

        register_legalize_intrinsic(name, "llvm", fast_math=fast_math, dtypes=dtypes)(rule)
        EXPANSIONS.append(Expansion(name, rule, dtypes, fast_math))
        return function

    return register


def format_of(x: Number) -> FloatFormat:
    return MACHINE_FLOATS[x.dtype]


@functools.cache
def _tables() -> dict[str, dict[str, list[float]]]:
    tables: dict[str, dict[str, list[float]]] = json.loads(Path(__file__).with_name("polynomials.json").read_text())
    return tables


def fitted(name: str, x: Number, scheme: Callable[[Number, Sequence[float]], Number] = polynomial) -> Number:
    """Evaluate a polynomial of polynomials.json at x."""
    return scheme(x, _tables()[name][x.dtype])


def pick(x: Number, f32: float, f64: float) -> float:
    """Select a constant by the element type."""
    return f32 if x.dtype == "f32" else f64


def parts(x: Number, high: float, low: float) -> tuple[float, float]:
    """Split a constant, given as the nearest f64 and the remainder, into two numbers of x's type."""
    if x.dtype == "f64":
        return high, low
    nearest = rounded_to_f32(high)
    return nearest, rounded_to_f32(high - nearest + low)


def rounded_to_f32(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, 24)), exponent - 24)


def magnitude(x: Number) -> Number:
    return unary("math.absf", x)


def square_root(x: Number) -> Number:
    return unary("math.sqrt", x)


def with_sign_of(x: Number, y: Number) -> Number:
    """Return the magnitude of x with the sign of y."""
    return operation("math.copysign", [x, y], x.type)


def at_most(x: Number, bound: float) -> Number:
    """Return min(x, bound). A NaN stays a NaN."""
    return select(x > bound, bound, x)


def at_least(x: Number, bound: float) -> Number:
    return select(x < bound, bound, x)


def nearest_integer(x: Number, factor: float = 1.0, above: int = 0) -> tuple[Number, Number]:
    """Return the integer nearest to x * factor, as a float and as an integer.

    The integer must have few enough bits.

    The function avoids a conversion, which is undefined for NaN. `above` is an offset of the integer result that costs
    no operation.
    """
    form = format_of(x)
    # Adding this number leaves the nearest integer in the low bits.
    magic, magic_bits = 1.5 * 2.0**form.mantissa + above, form.power(form.mantissa) | 1 << (form.mantissa - 1)
    shifted = fma(x, factor, magic) if factor != 1.0 else x + magic
    return shifted - magic, bits_of(shifted) - magic_bits


def power_of_two(n: Number, like: Number) -> Number:
    """Return 2**n for an exponent n of normal numbers."""
    form = format_of(like)
    return from_bits((n + form.bias) << form.mantissa, like.element)


def lift_of(x: Number) -> int:
    """Return the offset of the exponents that `scale` takes. Half of the offset is the bias of each of two factors."""
    return 2 * format_of(x).bias


def scale(x: Number, lifted: Number) -> Number:
    """Return x * 2**n, rounded once, even if 2**n alone is out of range. `lifted` is n + `lift_of(x)`."""
    form = format_of(x)
    half = (lifted >> 1) << form.mantissa
    rest = (lifted << form.mantissa) - half
    return x * from_bits(half, x.element) * from_bits(rest, x.element)


def split(x: Number) -> tuple[Number, Number]:
    """Return m in [sqrt(1/2), sqrt(2)) and the integer e with x = m * 2**e, for normal positive numbers."""
    mantissa, bits, sqrt_half = format_of(x).mantissa, bits_of(x), pick(x, 0x3F3504F3, 0x3FE6A09E667F3BCD)
    e = (bits - sqrt_half) >> mantissa
    return from_bits(bits - (e << mantissa), x.element), e


def as_float(n: Number, like: Number) -> Number:
    return convert("arith.sitofp", n, like.element)


def two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """Return a + b and its rounding error."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def two_product(a: Number, b: Number) -> tuple[Number, Number]:
    """Return a * b and its rounding error."""
    product = a * b
    return product, fma(a, b, -product)
