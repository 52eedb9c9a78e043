# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the expansions of intrinsics share: how they are registered, their polynomials, and floats taken apart."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from ....bindings.ir import OpView
from ....emit.arithmetic import bits_of, convert, from_bits
from ....emit.conversions import to_float
from ....emit.numbers import Number, fma, numbers, operation, polynomial, select, unary
from ....emit.small_floats import MACHINE_FLOATS, FloatFormat
from ....passes.intrinsics.registry import register_legalize_intrinsic

Function = Callable[..., Number]

_DTYPES = ("f32", "f64")
#: Neither has functions of its own that are exact enough: SPIR-V's are less so on most devices, and not for f64.
_TARGETS = ("llvm", "spirv")


def expansion(
    name: str, *, dtypes: tuple[str, ...] = _DTYPES, compute_in: str = "", fast_math: bool = False
) -> Callable[[Function], Function]:
    """Registers a function on Numbers as what the intrinsic is on llvm and spirv, for f32 and f64 or that one.

    `compute_in="f64"`: f32 is widened for the function, and its result rounded.
    """

    def register(function: Function) -> Function:
        @functools.wraps(function)
        def rule(op: OpView) -> Number:
            operands = numbers(op)
            dtype = operands[0].dtype
            return to_float(function(*(to_float(operand, compute_in or dtype) for operand in operands)), dtype)

        for target in _TARGETS:
            register_legalize_intrinsic(name, target, fast_math=fast_math, dtypes=dtypes)(rule)
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
    """What depends on the element type."""
    return f32 if x.dtype == "f32" else f64


def parts(x: Number, high: float, low: float) -> tuple[float, float]:
    """A constant, given as the nearest f64 and the rest, as two numbers of x's type."""
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
    """The magnitude of x, the sign of y."""
    return operation("math.copysign", [x, y], x.type)


def at_most(x: Number, bound: float) -> Number:
    """A NaN stays."""
    return select(x > bound, bound, x)


def at_least(x: Number, bound: float) -> Number:
    return select(x < bound, bound, x)


def nearest_integer(x: Number, factor: float = 1.0, above: int = 0) -> tuple[Number, Number]:
    """The integer nearest to x * factor as a float and as an integer, if it has few enough bits.

    Not by a conversion, which is undefined for NaN. `above`: what is added to the integer, without an operation.
    """
    form = format_of(x)
    # Added to a number it leaves the nearest integer in the low bits.
    magic, magic_bits = 1.5 * 2.0**form.mantissa + above, form.power(form.mantissa) | 1 << (form.mantissa - 1)
    shifted = fma(x, factor, magic) if factor != 1.0 else x + magic
    return shifted - magic, bits_of(shifted) - magic_bits


def power_of_two(n: Number, like: Number) -> Number:
    """2**n for an exponent of normal numbers."""
    form = format_of(like)
    return from_bits((n + form.bias) << form.mantissa, like.element)


def lift_of(x: Number) -> int:
    """By how much the exponents that `scale` takes are too large: half of it is the bias of one of two factors."""
    return 2 * format_of(x).bias


def scale(x: Number, lifted: Number) -> Number:
    """x * 2**n, rounded once, also where 2**n alone is out of range. `lifted` is n + `lift_of(x)`."""
    form = format_of(x)
    half = (lifted >> 1) << form.mantissa
    rest = (lifted << form.mantissa) - half
    return x * from_bits(half, x.element) * from_bits(rest, x.element)


def split(x: Number) -> tuple[Number, Number]:
    """m in [sqrt(1/2), sqrt(2)) and an integer e with x = m * 2**e, for normal positive numbers."""
    mantissa, bits, sqrt_half = format_of(x).mantissa, bits_of(x), pick(x, 0x3F3504F3, 0x3FE6A09E667F3BCD)
    e = (bits - sqrt_half) >> mantissa
    return from_bits(bits - (e << mantissa), x.element), e


def as_float(n: Number, like: Number) -> Number:
    return convert("arith.sitofp", n, like.element)


def two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """a + b, and what rounding took away."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def two_product(a: Number, b: Number) -> tuple[Number, Number]:
    """a * b, and what rounding took away."""
    product = a * b
    return product, fma(a, b, -product)
