# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of scalars in graphs: of floats, computed in f64 and rounded, and of the bits of integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from .. import special_functions as special
from ..element_bits import element_of
from ..held_values import Elements, computed
from ..integers import unsigned, width, wrapped
from ..sites import Site, Step
from ..steps import register_step

_FLOATS: dict[str, Callable[..., Elements]] = {
    "absf": numpy.abs, "acos": numpy.arccos, "acosh": numpy.arccosh, "asin": numpy.arcsin, "asinh": numpy.arcsinh,
    "atan": numpy.arctan, "atan2": numpy.arctan2, "atanh": numpy.arctanh, "cbrt": numpy.cbrt, "ceil": numpy.ceil,
    "copysign": numpy.copysign, "cos": numpy.cos, "cosh": numpy.cosh, "erf": special.erf, "erfc": special.erfc,
    "exp": numpy.exp, "exp2": numpy.exp2, "expm1": numpy.expm1, "floor": numpy.floor, "log": numpy.log,
    "log10": numpy.log10, "log1p": numpy.log1p, "log2": numpy.log2, "powf": numpy.power, "round": special.rounded_away,
    "roundeven": numpy.rint, "rsqrt": lambda x: 1 / numpy.sqrt(x), "sin": numpy.sin, "sinh": numpy.sinh,
    "sqrt": numpy.sqrt, "tan": numpy.tan, "tanh": numpy.tanh, "trunc": numpy.trunc,
}  # fmt: skip
_PREDICATES: dict[str, Callable[..., Elements]] = {
    "isfinite": numpy.isfinite, "isinf": numpy.isinf, "isnan": numpy.isnan, "isnormal": special.is_normal,
}  # fmt: skip


def _round(function: Callable[..., Elements]) -> Callable[[Site], Step]:
    def prepare(site: Site) -> Step:
        numbers, dtype = site.numbers, element_of(site.result_type())
        return lambda frame, *operands: numbers.held(function(*map(computed, operands)), dtype)[()]

    return prepare


for _name, _function in _FLOATS.items():
    register_step(f"math.{_name}")(_round(_function))


@register_step([f"math.{name}" for name in ("isfinite", "isinf", "isnan")])
def predicate(site: Site) -> Step:
    function = _PREDICATES[site.operation.name.partition(".")[2]]
    return lambda frame, x: function(computed(x))


@register_step("math.isnormal")
def is_normal(site: Site) -> Step:
    dtype = element_of(site.operand_type())
    return lambda frame, x: special.is_normal(computed(x), dtype)


@register_step("math.fma")
def fma(site: Site) -> Step:
    """Compute x * y + z, rounded once."""
    numbers, dtype = site.numbers, element_of(site.result_type())
    if numbers.wide:
        return lambda frame, x, y, z: x * y + z
    if dtype == "f64":
        return lambda frame, x, y, z: special.exact_fma(x, y, z)
    return lambda frame, x, y, z: numbers.held(computed(x) * computed(y) + computed(z), dtype)[()]


@register_step(["math.fpowi", "math.ipowi"])
def power(site: Site) -> Step:
    numbers, dtype = site.numbers, element_of(site.result_type())
    if site.operation.name == "math.fpowi":
        return lambda frame, x, y: numbers.held(computed(x) ** y.astype(float), dtype)[()]
    return lambda frame, x, y: special.integer_power(x, y, dtype)


@register_step("math.sincos")
def sine_and_cosine(site: Site) -> Step:
    numbers, dtype = site.numbers, element_of(site.result_type())
    return lambda frame, x: [numbers.held(each(computed(x)), dtype)[()] for each in (numpy.sin, numpy.cos)]


@register_step("math.clampf")
def clamp(site: Site) -> Step:
    return lambda frame, x, low, high: numpy.minimum(numpy.maximum(x, low), high)


# ---- integers ----


@register_step("math.absi")
def absolute(site: Site) -> Step:
    return lambda frame, x: numpy.abs(x)


@register_step("math.ctpop")
def population(site: Site) -> Step:
    dtype = element_of(site.result_type())
    return lambda frame, x: wrapped(special.bits_set(unsigned(x, dtype), width(dtype)), dtype)


@register_step("math.ctlz")
def leading_zeros(site: Site) -> Step:
    dtype = element_of(site.result_type())
    return lambda frame, x: wrapped(special.zeros_before(unsigned(x, dtype), width(dtype)), dtype)


@register_step("math.cttz")
def trailing_zeros(site: Site) -> Step:
    dtype = element_of(site.result_type())
    return lambda frame, x: wrapped(special.zeros_after(unsigned(x, dtype), width(dtype)), dtype)
