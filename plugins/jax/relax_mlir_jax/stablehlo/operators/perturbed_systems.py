# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tridiagonal systems that may be singular, by Gaussian elimination with partial pivoting, as LAPACK's lagts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.emit import loops
from relax_mlir.emit.matrices import Matrix, Place, folded, for_each_matrix, steps, with_sign_of
from relax_mlir.emit.numbers import Number, Size, as_index, intrinsic, larger, select
from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.matrices import Batch

from ..prelude import HloNode, Outputs, Tensor, Value, sizes


@dataclass(frozen=True)
class Complex:
    real: Number
    imag: Number

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.real + other.real, self.imag + other.imag)

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    def __sub__(self, other: Complex) -> Complex:
        return self + -other

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def scaled(self, factor: Number) -> Complex:
        return Complex(self.real * factor, self.imag * factor)

    def __truediv__(self, other: Complex) -> Complex:
        """Divide by the ratio of the divisor's parts, so that no square overflows."""
        is_real = absolute(other.real) >= absolute(other.imag)
        large, small = select(is_real, other.real, other.imag), select(is_real, other.imag, other.real)
        ratio = small / large
        whole = large + small * ratio
        first, second = select(is_real, self.real, self.imag), select(is_real, self.imag, self.real)
        apart = (second - first * ratio) / whole
        return Complex((first + second * ratio) / whole, select(is_real, apart, -apart))


class ComplexMatrix(Matrix):
    """Complex matrix or vector, as two matrices."""

    def __init__(self, *parts: Matrix):
        self._parts, self.sizes, self.element = parts, parts[0].sizes, parts[0].element

    def __getitem__(self, places: Place | Sequence[Place]) -> Complex:
        return Complex(*(part[places] for part in self._parts))

    def __setitem__(self, places: Place | Sequence[Place], value: Complex | Number) -> None:
        real, imag = self._parts
        real[places], imag[places] = (value.real, value.imag) if isinstance(value, Complex) else (value, 0.0)

    def row(self, place: Place) -> Matrix:
        return ComplexMatrix(*(part.row(place) for part in self._parts))

    def scratch(self, extents: Sequence[Size], use: Callable[[Matrix], object]) -> None:
        part = super().scratch
        part(extents, lambda real: part(extents, lambda imag: use(ComplexMatrix(real, imag))))


def is_single(x: Matrix) -> bool:
    return str(x.element) == "f32"


def absolute(x: Number | Complex) -> Number:
    return intrinsic("hypot", x.real, x.imag) if isinstance(x, Complex) else intrinsic("fabs", x)


def perturbed_tridiagonal_kernel(*buffers: Tensor) -> None:
    """Solve systems that may be singular, as LAPACK's lagts does: three diagonals and right sides, then the solution.

    A pivot that would make a quotient overflow grows by the rounding error of the upper factor, doubled until the
    quotient is finite. Inverse iteration for eigenvectors solves such systems. Complex systems have two buffers each.
    """

    def solve(low: Matrix, d: Matrix, up: Matrix, b: Matrix, x: Matrix) -> None:
        def with_memory(factor: Matrix) -> None:
            second, pivots, first = map(factor.row, range(3))
            most = _eliminate(low, (d, up, b), second, pivots, first, x)
            change = larger(absolute(pivots[as_index(x.rows) - 1]), most) * (2.0**-23 if is_single(x) else 2.0**-52)
            _substitute_back(second, pivots, first, x, lambda i: _perturbed(pivots[i], x.row(i), change))

        loops.when(as_index(x.rows) > 0, lambda: x.scratch((3, x.rows), with_memory))

    def solve_complex(*parts: Matrix) -> None:
        solve(*map(ComplexMatrix, parts[::2], parts[1::2]))

    for_each_matrix(buffers, solve_complex if len(buffers) == 10 else solve)


def _eliminate(
    low: Matrix, matrices: Sequence[Matrix], second: Matrix, pivots: Matrix, first: Matrix, x: Matrix
) -> Number:
    """Compute the upper factor and solve with the lower one. Pivots are compared relative to their rows, as in lagtf.

    Return the largest absolute value of the factor's rows except the last two and of the matrix's first row.
    """
    d, up, b = matrices
    last, zero = as_index(x.rows) - 1, x.real(0.0)

    def start(i: Number) -> None:
        pivots[i], first[i], second[i] = d[i], up[i], zero

    loops.for_range(0, x.rows, start)
    x.copy(b)

    def step(k: Number, scale: Number, most: Number) -> list[Number]:
        below, has_more = low[k + 1], k + 1 < last
        own, other = absolute(pivots[k]), absolute(below)
        of_first = absolute(first[k])
        scale, most = select(k == 0, own + of_first, scale), select(k == 0, larger(own, of_first), most)
        following = other + absolute(pivots[k + 1]) + select(has_more, absolute(first[k + 1]), zero)
        stays = own / scale >= other / following

        def eliminate() -> None:
            share = below / pivots[k]
            pivots[k + 1] = pivots[k + 1] - share * first[k]
            x.add_row(k + 1, -share, x, k)

        def swap() -> None:
            share = pivots[k] / below
            following = pivots[k + 1]
            pivots[k + 1] = first[k] - share * following
            pivots[k], first[k] = below, following

            def fill_in() -> None:
                second[k] = first[k + 1]
                first[k + 1] = -share * first[k + 1]

            loops.when(has_more, fill_in)
            x.swap_rows(k, k + 1)
            x.add_row(k + 1, -share, x, k)

        loops.when(other != 0.0, lambda: loops.when(stays, eliminate, swap))
        swapped = absolute(pivots[k + 1]) + absolute(first[k + 1])
        of_row = larger(larger(absolute(pivots[k]), absolute(first[k])), absolute(second[k]))
        return [
            select(stays | (other == 0.0), following, swapped),
            select(has_more, larger(of_row, most), most),
        ]

    most: Number = loops.for_range(0, last, step, zero, zero)[1]
    return most


def _substitute_back(
    second: Matrix, pivots: Matrix, first: Matrix, x: Matrix, pivot: Callable[[Number], Number | Complex]
) -> None:
    """Solve with the upper factor; `pivot(i)` is called when only the division of row i is left."""
    last = as_index(x.rows) - 1

    def back(i: Number) -> None:
        loops.when(i < last, lambda: x.add_row(i, -first[i], x, i + 1))
        loops.when(i + 1 < last, lambda: x.add_row(i, -second[i], x, i + 2))
        divisor = pivot(i)

        def divide(j: Number) -> None:
            x[i, j] = x[i, j] / divisor

        loops.for_range(0, x.columns, divide)

    steps(0, x.rows, back, backwards=True)


def _perturbed(pivot: Number | Complex, row: Matrix, change: Number) -> Number | Complex:
    """Return a pivot by which a row can be divided without overflow: the pivot, or one with another real part."""
    largest = folded(0, row.rows, lambda j, best: larger(absolute(row[j]), best), row.real(0.0))
    least = row.real(2.0**-126 if is_single(row) else 2.0**-1022)
    real = pivot.real if isinstance(pivot, Complex) else pivot
    with_real = lambda real: Complex(real, pivot.imag) if isinstance(pivot, Complex) else real  # noqa: E731

    def overflows(real: Number, _: Number) -> Number:
        size = absolute(with_real(real))
        return (size < 1.0) & ((size == 0.0) | (largest * least > size))

    grow = lambda real, change: (real + change, change * 2.0)  # noqa: E731
    found = loops.repeat_while([real, with_sign_of(larger(change, least), real)], overflows, grow)[0]
    return with_real(found)


def perturbed_systems(node: HloNode) -> Outputs:
    """Return the solution of systems that may be singular: the diagonals and right sides, all of them or in parts."""
    tensors = [part for place in range(4) for part in node.pair(place) if part is not None]
    sides = len(tensors) // 4
    batch, (n, columns) = Batch.of(node, tensors[-1]), sizes.sizes_of(Value(ssa=tensors[-1]))[-2:]
    flat = [batch.flat(tensor, 1 if place < 3 * sides else 2) for place, tensor in enumerate(tensors)]
    parts = batch.call(perturbed_tridiagonal_kernel, flat, *[((n, columns), Value(ssa=tensors[-1]).dtype)] * sides)
    return [Pair(*parts).value()] if node.is_complex else parts
