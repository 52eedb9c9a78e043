# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions of chlo: relatives of the error and gamma functions, Bessel functions, inverse functions."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import bit_width, is_unsigned
from relax_mlir.emit.elementwise import ScalarFunction
from relax_mlir.emit.special.bessel_functions import modified_i
from relax_mlir.emit.special.error_functions import erfinv
from relax_mlir.emit.special.gamma_functions import digamma, polygamma, zeta
from relax_mlir.frontends.core import complex_numbers as pairs
from relax_mlir.frontends.core.complex_numbers import Pair, Unary

from ..prelude import (
    Convert,
    HloNode,
    Outputs,
    Tensor,
    cast,
    const,
    elementwise,
    intrinsic_of,
    like,
    register_rows,
    register_stablehlo,
    relax,
)
from .elementwise import in_wide, of_tir, unary


def _make_scalar_converter(function: ScalarFunction, *parameters: object) -> Convert:
    return lambda node: in_wide(node, lambda *given: elementwise(node, function, given, *parameters), *node.tensors())


# ---- inverse functions of complex numbers ----


def _one(x: Pair) -> Pair:
    return Pair(like(x.real, 1), None)


def _minus(x: Pair, y: Pair) -> Pair:
    return pairs.added(x, y, relax.subtract)


def _roots(x: Pair) -> tuple[Pair, Pair]:
    """Return the roots of 1 + x and 1 - x."""
    return pairs.root(pairs.added(_one(x), x)), pairs.root(_minus(_one(x), x))


def _multiply_across(one: Pair, other: Pair) -> Tensor:
    """Return the imaginary part of `one` conjugated times `other`."""
    return relax.subtract(relax.multiply(one.real, other.whole_imag), relax.multiply(one.whole_imag, other.real))


def _asin(x: Pair) -> Pair:
    """Return arcsine by Kahan's method with roots, which is accurate near the branch points."""
    above, below = _roots(x)
    return Pair(relax.atan2(x.real, pairs.multiplied(below, above).real), relax.asinh(_multiply_across(below, above)))


def _acos(x: Pair) -> Pair:
    above, below = _roots(x)
    turn = relax.atan2(below.real, above.real)
    return Pair(relax.add(turn, turn), relax.asinh(_multiply_across(above, below)))


def _acosh(x: Pair) -> Pair:
    above, below = pairs.root(pairs.added(_one(x), x)), pairs.root(_minus(x, _one(x)))
    real = pairs.multiplied(pairs.conjugate(below), above).real
    turn = relax.atan2(below.whole_imag, above.real)
    return Pair(relax.asinh(real), relax.add(turn, turn))


def _asinh(x: Pair) -> Pair:
    return pairs.minus_turned(_asin(pairs.turned(x)))


def _atanh(x: Pair) -> Pair:
    """Return log1p(4 a / ((1 - a)^2 + b^2)) / 4, and half of the angle of 1 - a^2 - b^2 + 2 b i."""
    a, b, one = x.real, x.whole_imag, like(x.real, 1)
    square = relax.square(b)
    below, above = relax.subtract(one, a), relax.add(one, a)
    ratio = relax.divide(relax.multiply(a, like(a, 4)), relax.add(relax.square(below), square))
    real = relax.multiply(relax.log(relax.add(one, ratio)), like(a, 0.25))
    turn = relax.atan2(relax.add(b, b), relax.subtract(relax.multiply(below, above), square))
    return Pair(real, relax.multiply(turn, like(a, 0.5)))


def _atan(x: Pair) -> Pair:
    return pairs.minus_turned(_atanh(pairs.turned(x)))


_INVERSES: dict[str, Unary] = {
    "acos": _acos, "acosh": _acosh, "asin": _asin, "asinh": _asinh, "atan": _atan, "atanh": _atanh
}  # fmt: skip
register_rows(
    {
        f"chlo.{name} chlo.broadcast_{name}": unary(relax.dialect.ops[name], of_pair)
        for name, of_pair in _INVERSES.items()
    }
)
register_rows(
    {
        "chlo.erf": unary(relax.erf),
        "chlo.erfc": of_tir("erfc"),
        "chlo.erf_inv": _make_scalar_converter(erfinv),
        "chlo.lgamma": of_tir("lgamma"),
        "chlo.zeta chlo.broadcast_zeta": _make_scalar_converter(zeta),
        "chlo.bessel_i1e": _make_scalar_converter(modified_i, 1, True),
        "chlo.bessel_i0e": _make_scalar_converter(modified_i, 0, True),
    }
)


def _digamma(node: HloNode, x: Tensor) -> Tensor:
    """Return digamma, with NaN at 0, where both one-sided limits differ."""
    return relax.where(relax.equal(x, like(x, 0)), like(x, float("nan")), elementwise(node, digamma, [x]))


@register_stablehlo("chlo.digamma")
def digamma_of(node: HloNode) -> Outputs:
    return in_wide(node, lambda x: _digamma(node, x), node.tensor(0))


@register_stablehlo("chlo.polygamma", "chlo.broadcast_polygamma")
def polygamma_of_order(node: HloNode) -> Outputs:
    """Return (-1)^(n+1) n! zeta(n + 1, x), or digamma for the order 0."""
    order = node.value(0).array
    if order is None or order.size == 0 or (order != order.ravel()[0]).any():
        return in_wide(node, lambda n, x: _polygamma(node, n, x), *node.tensors())
    if (number := int(order.ravel()[0])) == 0:
        return in_wide(node, lambda x: _digamma(node, x), node.tensor(1))
    return in_wide(node, lambda x: elementwise(node, polygamma, [x], number), node.tensor(1))


def _polygamma(node: HloNode, order: Tensor, x: Tensor) -> Tensor:
    """Return polygamma for a tensor of orders, by the gamma function."""
    above = relax.add(order, like(order, 1))
    half = relax.multiply(order, like(order, 0.5))
    is_even = relax.equal(relax.floor(half), half)
    size = relax.multiply(relax.exp(intrinsic_of(node, "lgamma", [above])), elementwise(node, zeta, [above, x]))
    signed = relax.where(is_even, relax.negative(size), size)
    return relax.where(relax.equal(order, like(order, 0)), _digamma(node, x), signed)


@register_stablehlo("chlo.constant_like")
def constant_like(node: HloNode) -> Outputs:
    value = node.attr("value")
    return relax.full_like(node.tensor(0), like(node.tensor(0), value))


@register_stablehlo("chlo.mulhi")
def mulhi(node: HloNode) -> Outputs:
    """Return the upper half of the product."""
    if (bits := bit_width(node.dtype)) > 32:
        raise node.fail("it is only supported for integers of up to 32 bits")
    wide = f"{'ui' if is_unsigned(node.dtype) else 'i'}64"
    product = relax.multiply(cast(node.tensor(0), wide), cast(node.tensor(1), wide))
    return cast(relax.right_shift(product, const(bits, wide)), node.dtype)
