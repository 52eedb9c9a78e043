# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers as pairs of real tensors, and arithmetic with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...dialects import relax
from .tensors import like, part
from .values import ComplexValue, Tensor, Value

Unary = Callable[["Pair"], "Pair"]
Product = Callable[[Tensor, Tensor], Tensor]


class Pair(NamedTuple):
    """Real and imaginary part of a tensor. The imaginary part of real data is None."""

    real: Tensor
    imag: Tensor | None

    @property
    def whole_imag(self) -> Tensor:
        return relax.zeros_like(self.real) if self.imag is None else self.imag

    def value(self) -> ComplexValue:
        return ComplexValue(Value(ssa=self.real), Value(ssa=self.whole_imag))


def each_part(x: Pair, function: Callable[[Tensor], Tensor]) -> Pair:
    """Apply a function to both parts."""
    return Pair(function(x.real), None if x.imag is None else function(x.imag))


def added(x: Pair, y: Pair, join: Product = relax.add) -> Pair:
    if y.imag is None:
        real = join(x.real, y.real)
        # The tensor with more elements decides the shape of the result.
        imag = None if x.imag is None else relax.add(x.imag, relax.zeros_like(real))
        return Pair(real, imag)
    return Pair(join(x.real, y.real), join(x.whole_imag, y.imag))


def multiplied(x: Pair, y: Pair, product: Product = relax.multiply) -> Pair:
    """Return a product that is linear in both operands, for instance of elements or of matrices."""
    if x.imag is None and y.imag is None:
        return Pair(product(x.real, y.real), None)
    if y.imag is None:
        return Pair(product(x.real, y.real), product(x.whole_imag, y.real))
    if x.imag is None:
        return Pair(product(x.real, y.real), product(x.real, y.imag))
    real = relax.subtract(product(x.real, y.real), product(x.imag, y.imag))
    return Pair(real, relax.add(product(x.real, y.imag), product(x.imag, y.real)))


def divided(x: Pair, y: Pair) -> Pair:
    """Divide by Smith's method, which does not square the larger part of the divisor."""
    if y.imag is None:
        imag = None if x.imag is None else relax.divide(x.imag, y.real)
        return Pair(relax.divide(x.real, y.real), imag)
    is_real_larger = relax.greater_equal(relax.abs(y.real), relax.abs(y.imag))
    large = relax.where(is_real_larger, y.real, y.imag)
    small = relax.where(is_real_larger, y.imag, y.real)
    ratio = relax.divide(small, large)
    whole = relax.add(large, relax.multiply(small, ratio))
    first = relax.where(is_real_larger, x.real, x.whole_imag)
    second = relax.where(is_real_larger, x.whole_imag, x.real)
    real = relax.divide(relax.add(first, relax.multiply(second, ratio)), whole)
    apart = relax.divide(relax.subtract(second, relax.multiply(first, ratio)), whole)
    return Pair(real, relax.where(is_real_larger, apart, relax.negative(apart)))


def conjugate(x: Pair) -> Pair:
    return Pair(x.real, None if x.imag is None else relax.negative(x.imag))


def magnitude(x: Pair) -> Tensor:
    """Return the absolute value. The ratio of the parts is used, so that no square overflows."""
    if x.imag is None:
        return relax.abs(x.real)
    one, other = relax.abs(x.real), relax.abs(x.imag)
    large, small = relax.maximum(one, other), relax.minimum(one, other)
    has_ratio = relax.logical_and(relax.greater(large, like(large, 0)), relax.isfinite(large))
    ratio = relax.where(has_ratio, relax.divide(small, large), like(large, 0))
    return relax.multiply(large, relax.sqrt(relax.add(relax.square(ratio), like(ratio, 1))))


def angle(x: Pair) -> Tensor:
    return relax.atan2(x.whole_imag, x.real)


def from_polar(size: Tensor, turn: Tensor) -> Pair:
    return Pair(relax.multiply(size, relax.cos(turn)), relax.multiply(size, relax.sin(turn)))


def exponential(x: Pair) -> Pair:
    return from_polar(relax.exp(x.real), x.whole_imag)


def logarithm(x: Pair) -> Pair:
    return Pair(relax.log(magnitude(x)), angle(x))


def root(x: Pair) -> Pair:
    """Return the root with a nonnegative real part. The larger part is a square root, the other part a quotient."""
    half = like(x.real, 0.5)
    size = relax.sqrt(relax.multiply(relax.add(magnitude(x), relax.abs(x.real)), half))
    is_zero = relax.equal(size, like(size, 0))
    other = relax.divide(relax.multiply(x.whole_imag, half), relax.where(is_zero, like(size, 1), size))
    is_right = relax.greater_equal(x.real, like(x.real, 0))
    is_below = relax.less(x.whole_imag, like(x.real, 0))
    upright = relax.where(is_below, relax.negative(size), size)
    return Pair(relax.where(is_right, size, relax.abs(other)), relax.where(is_right, other, upright))


def sign(x: Pair) -> Pair:
    size = magnitude(x)
    is_zero = relax.equal(size, like(size, 0))
    divisor = relax.where(is_zero, like(size, 1), size)
    return Pair(relax.divide(x.real, divisor), relax.divide(x.whole_imag, divisor))


def turned(x: Pair) -> Pair:
    """Return i times x."""
    return Pair(relax.negative(x.whole_imag), x.real)


def cosh(x: Pair) -> Pair:
    imag = x.whole_imag
    return Pair(
        relax.multiply(relax.cosh(x.real), relax.cos(imag)), relax.multiply(relax.sinh(x.real), relax.sin(imag))
    )


def sinh(x: Pair) -> Pair:
    imag = x.whole_imag
    return Pair(
        relax.multiply(relax.sinh(x.real), relax.cos(imag)), relax.multiply(relax.cosh(x.real), relax.sin(imag))
    )


def tanh(x: Pair) -> Pair:
    """Compute tanh from tanh of the real part, which does not overflow."""
    slope, turn = relax.tanh(x.real), relax.tan(x.whole_imag)
    one = Pair(like(slope, 1), relax.multiply(slope, turn))
    return divided(Pair(slope, turn), one)


def minus_turned(x: Pair) -> Pair:
    return Pair(x.whole_imag, relax.negative(x.real))


def reciprocal(x: Pair) -> Pair:
    return divided(Pair(like(x.real, 1), None), x)


def sigmoid(x: Pair) -> Pair:
    grown = exponential(Pair(relax.negative(x.real), relax.negative(x.whole_imag)))
    return reciprocal(Pair(relax.add(grown.real, like(grown.real, 1)), grown.imag))


# ---- function signatures: tensors with a last dimension of real and imaginary part ----


def of_pairs(pairs: Tensor) -> ComplexValue:
    """Return the complex numbers that a tensor of pairs represents."""
    last = pairs.type.rank - 1
    real, imag = (Value(ssa=part(pairs, last, place, place + 1, drop=True)) for place in (0, 1))
    return ComplexValue(real, imag)


def in_pairs(complex_value: ComplexValue) -> Tensor:
    """Return a tensor of pairs that represents the complex numbers."""
    real = complex_value.real.ssa
    return relax.stack([real, complex_value.imag.ssa], axis=real.type.rank)
