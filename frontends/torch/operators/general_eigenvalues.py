# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eigenvalues and eigenvectors of matrices that need not be symmetric: complex numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ....emit import loops
from ....emit.numbers import Number, as_index, maximum, select
from ...core.linear_algebra.matrix_loops import Batch, Matrix, absolute, each_matrix, largest, root, total, transposed
from ...core.values import ComplexValue
from ..prelude import Node, Outputs, Tensor, Value, register_torch, sizes
from ..registry import register_complex
from .schur_form import find

# Vectors that grow beyond this are made shorter: their squares must not overflow.
_LARGE = 2.0**40


@dataclass(frozen=True)
class Eigen:
    """The kernel of eigenvalues and, where they are asked for, of eigenvectors: a row each."""

    with_vectors: bool
    __name__ = "eig"

    def __call__(self, a: Tensor, *results: Tensor) -> None:
        each_matrix([a, *results], self._one)

    def _one(self, a: Matrix, real: Matrix, imag: Matrix, *vectors: Matrix) -> None:
        real.fill(lambda i: real.real(float("nan")))  # what is not found stays that
        imag.fill(lambda i: imag.real(0.0))

        def use(t: Matrix) -> None:
            t.copy(a)
            if not self.with_vectors:
                return find(t, None, real, imag)
            t.scratch(t.sizes, lambda z: found(t, z))

        def found(t: Matrix, z: Matrix) -> None:
            z.fill(lambda i, j: select(i == j, z.real(1.0), 0.0))
            find(t, z, real, imag)
            backwards = lambda x, y: _all_vectors(t, z, Values(real, imag), Values(x, y), Values(*vectors))  # noqa: E731
            t.scratch([t.rows], lambda x: t.scratch([t.rows], lambda y: backwards(x, y)))

        a.scratch(a.sizes, use)


class Complex(NamedTuple):
    real: Number
    imag: Number

    def plus(self, other: Complex) -> Complex:
        return Complex(self.real + other.real, self.imag + other.imag)

    def times(self, other: Complex) -> Complex:
        return Complex(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def scaled(self, factor: Number) -> Complex:
        return Complex(self.real * factor, self.imag * factor)

    def over(self, other: Complex) -> Complex:
        """By the ratio of the divisor's parts: no square overflows."""
        is_real = absolute(other.real) >= absolute(other.imag)
        large, small = select(is_real, other.real, other.imag), select(is_real, other.imag, other.real)
        ratio = small / large
        whole = large + small * ratio
        first, second = select(is_real, self.real, self.imag), select(is_real, self.imag, self.real)
        apart = (second - first * ratio) / whole
        return Complex((first + second * ratio) / whole, select(is_real, apart, -apart))


class Values(NamedTuple):
    """Complex numbers in memory."""

    real: Matrix
    imag: Matrix

    def get(self, *places: Any) -> Complex:
        return Complex(self.real[places], self.imag[places])

    def set(self, value: Complex, *places: Any) -> None:
        self.real[places], self.imag[places] = value


def _all_vectors(t: Matrix, z: Matrix, values: Values, x: Values, vectors: Values) -> None:
    """From the last eigenvalue on; of two that are conjugate so are the vectors."""
    scale = largest(t)

    def step(i: Number) -> Number:
        is_pair = values.imag[i] != 0.0
        top = select(is_pair, i - 1, i)
        x.real.fill(lambda _: t.real(0.0))
        x.imag.fill(lambda _: t.real(0.0))
        x.real[i] = 1.0
        loops.when(is_pair, lambda: _start_of_pair(t, x, i))
        _substitute(t, values, x, top, scale)
        _lengthen(z, x, vectors, i, top)
        loops.when(is_pair, lambda: _conjugate(vectors, i))
        return top - 1

    loops.repeat_while([as_index(t.rows) - 1], lambda i: i >= 0, step)


def _start_of_pair(t: Matrix, x: Values, i: Number) -> None:
    """The vector of the eigenvalue with the positive imaginary part, in these two rows."""
    above, below = t[i - 1, i], t[i, i - 1]
    size = root(absolute(above)) * root(absolute(below))
    is_above = absolute(above) >= absolute(below)
    zero, one = t.real(0.0), t.real(1.0)
    x.set(Complex(select(is_above, one, -size / below), zero), i - 1)
    x.set(Complex(zero, select(is_above, size / above, one)), i)


def _substitute(t: Matrix, values: Values, x: Values, top: Number, scale: Number) -> None:
    """Solves (T - value) x = 0 for what is above the value's own rows; `scale` is T's."""
    own = values.get(top)
    smallest = maximum((absolute(own.real) + absolute(own.imag)) * t.epsilon, scale * t.epsilon**2)
    last = select(own.imag != 0.0, top + 1, top)

    def rest(row: Number, start: Number) -> Complex:
        real = total(start, last + 1, lambda j: t[row, j] * x.real[j], t.real(0.0))
        imag = total(start, last + 1, lambda j: t[row, j] * x.imag[j], t.real(0.0))
        return Complex(-real, -imag)

    def shifted(row: Number) -> Complex:
        return Complex(t[row, row] - own.real, -own.imag)

    def larger_part(j: Number) -> Number:
        return maximum(absolute(x.real[j]), absolute(x.imag[j]))

    def shrink(start: Number, size: Number) -> None:
        loops.for_range(start, last + 1, lambda j: x.set(x.get(j).scaled(1.0 / size), j))

    def nonzero(value: Complex, least: Number) -> Complex:
        is_zero = maximum(absolute(value.real), absolute(value.imag)) < least
        return Complex(select(is_zero, least, value.real), select(is_zero, least.constant(0.0), value.imag))

    def alone(j: Number) -> None:
        x.set(rest(j, j + 1).over(nonzero(shifted(j), smallest)), j)

    def together(j: Number) -> None:
        h = j - 1
        first, second, above, below = rest(h, j + 1), rest(j, j + 1), t[h, j], t[j, h]
        one, other = shifted(h), shifted(j)
        product = one.times(other)
        whole = nonzero(Complex(product.real - above * below, product.imag), smallest * smallest)
        x.set(other.times(first).plus(second.scaled(-above)).over(whole), h)
        x.set(one.times(second).plus(first.scaled(-below)).over(whole), j)

    def row(j: Number) -> Number:
        is_pair = values.imag[j] != 0.0
        loops.when(is_pair, lambda: together(j), lambda: alone(j))
        following = select(is_pair, j - 2, j - 1)
        size = maximum(larger_part(following + 1), larger_part(j))
        loops.when(size > _LARGE, lambda: shrink(following + 1, size))
        return following

    loops.repeat_while([top - 1], lambda j: j >= 0, row)


def _lengthen(z: Matrix, x: Values, vectors: Values, i: Number, row: Number) -> None:
    """The vector in the coordinates of the matrix, of length 1; the largest element of a complex one is real."""
    for part, out in zip(x, vectors, strict=True):
        loops.for_range(0, z.columns, lambda j, out=out: out.__setitem__((row, j), z.real(0.0)))
        loops.for_range(0, i + 1, lambda k, part=part, out=out: out.add_row(row, part[k], z, k))

    def square(j: Number) -> Number:
        value = vectors.get(row, j)
        return value.real * value.real + value.imag * value.imag

    def compare(j: Number, best: Number, place: Number) -> list[Number]:
        size = square(j)
        return [select(size > best, size, best), select(size > best, j, place)]

    _, place = loops.for_range(0, z.columns, compare, z.real(0.0), as_index(0))
    length, (real, imag) = root(total(0, z.columns, square, z.real(0.0))), vectors.get(row, place)
    size = root(square(place)) * length
    size = select((real < 0.0) & (absolute(real) > absolute(imag)), -size, size)  # as LAPACK turns it
    factor = Complex(real / size, -imag / size)
    loops.for_range(0, z.columns, lambda j: vectors.set(vectors.get(row, j).times(factor), row, j))
    vectors.imag[row, place] = 0.0


def _conjugate(vectors: Values, i: Number) -> None:
    def each(j: Number) -> None:
        value = vectors.get(i - 1, j)
        vectors.set(Complex(value.real, -value.imag), i, j)

    loops.for_range(0, vectors.real.columns, each)


@register_torch("aten::linalg_eigvals")
@register_complex("aten::linalg_eig", "aten::linalg_eigvals", "aten::_linalg_eigvals")
def eig(node: Node) -> Outputs:
    if isinstance(node.held(0), ComplexValue):
        raise node.fail("eigenvalues of complex matrices are not computed: use linalg.eigh if they are Hermitian")
    a, n, dtype = node.tensor(0), sizes.sizes_of(node.value(0))[-1], node.value(0).dtype
    batch, with_vectors = Batch.of(node, a), not node.op.endswith("eigvals.default") and node.is_wanted[1]
    results = [((n,), dtype)] * 2 + [((n, n), dtype)] * (2 if with_vectors else 0)
    made = batch.call(Eigen(with_vectors), [batch.flat(a)], *results)
    values = ComplexValue(*(Value(ssa=each) for each in made[:2]))
    if not with_vectors:
        return values if node.op.endswith("eigvals.default") else [values, None]
    return [values, ComplexValue(*(Value(ssa=transposed(each)) for each in made[2:]))]
