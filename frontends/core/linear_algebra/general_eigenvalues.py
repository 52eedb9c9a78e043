# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex eigenvalues and eigenvectors of matrices that need not be symmetric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ....emit import loops
from ....emit.numbers import Number, as_index, maximum, select
from .. import sizes
from ..node import Node
from ..values import ComplexValue, Tensor, Value
from .matrix_loops import Batch, Complex, Matrix, Place, absolute, each_matrix, largest, root, total, transposed
from .schur_form import find

# Vectors that grow beyond this limit are scaled down, so that their squares do not overflow.
_LARGE = 2.0**40


@dataclass(frozen=True)
class GeneralEigen:
    """Kernel of eigenvalues and, on request, of left and right eigenvectors as rows."""

    with_left: bool
    with_right: bool
    __name__ = "eig"

    def __call__(self, a: Tensor, *results: Tensor) -> None:
        each_matrix([a, *results], self._one)

    def _one(self, a: Matrix, real: Matrix, imag: Matrix, *vectors: Matrix) -> None:
        real.fill(lambda i: real.real(float("nan")))  # Eigenvalues that are not found stay NaN.
        imag.fill(lambda i: imag.real(0.0))

        def use(t: Matrix) -> None:
            t.copy(a)
            if not vectors:
                return find(t, None, real, imag)
            t.scratch(t.sizes, lambda z: found(t, z))

        def found(t: Matrix, z: Matrix) -> None:
            z.fill(lambda i, j: select(i == j, z.real(1.0), 0.0))
            find(t, z, real, imag)
            values = Values(real, imag)
            t.scratch([t.rows], lambda x: t.scratch([t.rows], lambda y: backwards(t, z, values, Values(x, y))))

        def backwards(t: Matrix, z: Matrix, values: Values, x: Values) -> None:
            if self.with_right:
                _all_vectors(t, z, values, x, Values(*vectors[-2:]))
            if self.with_left:
                _all_left_vectors(t, z, values, x, Values(*vectors[:2]))

        a.scratch(a.sizes, use)


class Values(NamedTuple):
    """Complex numbers in memory."""

    real: Matrix
    imag: Matrix

    def get(self, *places: Place) -> Complex:
        return Complex(self.real[places], self.imag[places])

    def set(self, value: Complex, *places: Place) -> None:
        self.real[places], self.imag[places] = value.real, value.imag


def _all_left_vectors(t: Matrix, z: Matrix, values: Values, x: Values, vectors: Values) -> None:
    """Compute the vectors u with uᴴ A = value uᴴ: the right eigenvectors of Aᵀ for the conjugate eigenvalues.

    In the reverse order of rows and columns, the transposed triangle is an upper triangle again. The triangle and the
    coordinates are reversed in place, hence after the right vectors. The eigenvalues and the vectors are reversed back.
    """
    last = as_index(t.rows) - 1

    def swap(one: tuple[Number, Number], other: tuple[Number, Number], memory: Matrix) -> None:
        loops.when(one[0] * t.rows + one[1] < other[0] * t.rows + other[1], lambda: memory.exchange(one, other))

    def turn(i: Number, j: Number) -> None:
        swap((i, j), (last - j, last - i), t)

    def turn_rows() -> None:
        half = as_index(t.rows) // 2
        loops.for_range(0, half, lambda i: values.real.exchange((i,), (last - i,)))
        loops.for_range(0, half, lambda i: values.imag.exchange((i,), (last - i,)))

    def turn_imag() -> None:
        values.imag.fill(lambda i: -values.imag[i])

    loops.nest([t.rows, t.rows], turn)
    loops.for_range(0, as_index(t.rows) // 2, lambda i: z.swap_rows(i, last - i))
    turn_rows()
    turn_imag()
    _all_vectors(t, z, values, x, vectors, is_left=True)
    for part in vectors:
        loops.for_range(0, as_index(t.rows) // 2, lambda i, part=part: part.swap_rows(i, last - i))
    turn_rows()
    turn_imag()


def _all_vectors(t: Matrix, z: Matrix, values: Values, x: Values, vectors: Values, is_left: bool = False) -> None:
    """Compute the vectors from the last eigenvalue on. The vectors of a conjugate pair are conjugate."""
    scale = largest(t)

    def step(i: Number) -> Number:
        is_pair = values.imag[i] != 0.0
        top = select(is_pair, i - 1, i)
        x.real.fill(lambda _: t.real(0.0))
        x.imag.fill(lambda _: t.real(0.0))
        x.real[i] = 1.0
        loops.when(is_pair, lambda: _start_of_pair(t, x, i, is_left))
        _substitute(t, values, x, top, scale)
        _lengthen(z, x, vectors, i, top)
        loops.when(is_pair, lambda: _conjugate(vectors, i))
        return top - 1

    loops.repeat_while([as_index(t.rows) - 1], lambda i: i >= 0, step)


def _start_of_pair(t: Matrix, x: Values, i: Number, is_left: bool) -> None:
    """Set the two rows of a pair, in the vector of the eigenvalue with the positive imaginary part.

    A left vector is multiplied by -i, as in LAPACK, which computes its conjugate.
    """
    above, below = t[i - 1, i], t[i, i - 1]
    size = root(absolute(above)) * root(absolute(below))
    is_above = absolute(above) >= absolute(below)
    zero, one = t.real(0.0), t.real(1.0)
    first, second = select(is_above, one, -size / below), select(is_above, size / above, one)
    x.set(Complex(zero, -first) if is_left else Complex(first, zero), i - 1)
    x.set(Complex(second, zero) if is_left else Complex(zero, second), i)


def _substitute(t: Matrix, values: Values, x: Values, top: Number, scale: Number) -> None:
    """Solve (T - value) x = 0 for the rows above the rows of the value. `scale` is the scale of T."""
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
        x.set(rest(j, j + 1) / nonzero(shifted(j), smallest), j)

    def together(j: Number) -> None:
        h = j - 1
        first, second, above, below = rest(h, j + 1), rest(j, j + 1), t[h, j], t[j, h]
        one, other = shifted(h), shifted(j)
        product = one * other
        whole = nonzero(Complex(product.real - above * below, product.imag), smallest * smallest)
        x.set((other * first + second.scaled(-above)) / whole, h)
        x.set((one * second + first.scaled(-below)) / whole, j)

    def row(j: Number) -> Number:
        is_pair = values.imag[j] != 0.0
        loops.when(is_pair, lambda: together(j), lambda: alone(j))
        following = select(is_pair, j - 2, j - 1)
        size = maximum(larger_part(following + 1), larger_part(j))
        loops.when(size > _LARGE, lambda: shrink(following + 1, size))
        return following

    loops.repeat_while([top - 1], lambda j: j >= 0, row)


def _lengthen(z: Matrix, x: Values, vectors: Values, i: Number, row: Number) -> None:
    """Transform a vector to the coordinates of the matrix, with length 1.

    The largest element of a complex vector is real.
    """
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
    length, most = root(total(0, z.columns, square, z.real(0.0))), vectors.get(row, place)
    size = root(square(place)) * length
    is_negative = (most.real < 0.0) & (absolute(most.real) > absolute(most.imag))
    size = select(is_negative, -size, size)  # Choose the sign as LAPACK does.
    factor = Complex(most.real / size, -most.imag / size)
    loops.for_range(0, z.columns, lambda j: vectors.set(vectors.get(row, j) * factor, row, j))
    vectors.imag[row, place] = 0.0


def _conjugate(vectors: Values, i: Number) -> None:
    def each(j: Number) -> None:
        value = vectors.get(i - 1, j)
        vectors.set(Complex(value.real, -value.imag), i, j)

    loops.for_range(0, vectors.real.columns, each)


class Eigenvectors(NamedTuple):
    """Eigenvalues of a batch of matrices, and the requested left and right eigenvectors as columns."""

    values: ComplexValue
    left: ComplexValue | None
    right: ComplexValue | None


def eig_of(node: Node, a: Tensor, with_left: bool = False, with_right: bool = False) -> Eigenvectors:
    """Compute eigenvalues as LAPACK's geev does. Eigenvalues that do not converge are NaN."""
    batch, n, dtype = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-1], Value(ssa=a).dtype
    results = [((n,), dtype)] * 2 + [((n, n), dtype)] * 2 * (with_left + with_right)
    made = batch.call(GeneralEigen(with_left, with_right), [batch.flat(a)], *results)
    parts = [Value(ssa=each) for each in (*made[:2], *map(transposed, made[2:]))]
    values, *vectors = (ComplexValue(*parts[place : place + 2]) for place in range(0, len(parts), 2))
    return Eigenvectors(values, vectors[0] if with_left else None, vectors[-1] if with_right else None)
