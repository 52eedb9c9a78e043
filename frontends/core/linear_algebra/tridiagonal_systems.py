# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Systems of linear equations with tridiagonal matrices, by Gaussian elimination with partial pivoting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....emit import loops
from ....emit.numbers import Number, as_index, constant, larger, select
from .. import sizes
from ..node import Node
from ..values import Tensor, Value
from .matrix_loops import Batch, Complex, Matrix, absolute, each_matrix, folded, steps, with_sign_of


def tridiagonal_kernel(*buffers: Tensor) -> None:
    """Solve systems as LAPACK's gtsv does: three diagonals and right sides, then the results.

    The first element of the lower diagonal and the last element of the upper one are not read. The results are the
    diagonals of the upper factor, the second superdiagonal first, then the solution, then the 1-based index of the
    first pivot that is 0.
    """

    def solve(low: Matrix, d: Matrix, up: Matrix, b: Matrix, *results: Matrix) -> None:
        second, pivots, first, x, info = results
        info[()], _ = _eliminate(low, (d, up, b), second, pivots, first, x)
        _substitute_back(second, pivots, first, x, lambda i: pivots[i])

    each_matrix(buffers, solve)


def perturbed_tridiagonal_kernel(*buffers: Tensor) -> None:
    """Solve systems that may be singular, as LAPACK's lagts does: three diagonals and right sides, then the solution.

    A pivot that would make a quotient overflow grows by the rounding error of the upper factor, doubled until the
    quotient is finite. Inverse iteration for eigenvectors solves such systems. Complex systems have two buffers each.
    """

    def solve(low: Matrix, d: Matrix, up: Matrix, b: Matrix, x: Matrix) -> None:
        def with_memory(factor: Matrix) -> None:
            second, pivots, first = map(factor.row, range(3))
            _, most = _eliminate(low, (d, up, b), second, pivots, first, x, is_scaled=True)
            change = larger(absolute(pivots[as_index(x.rows) - 1]), most) * x.epsilon
            _substitute_back(second, pivots, first, x, lambda i: _perturbed(pivots[i], x.row(i), change))

        loops.when(as_index(x.rows) > 0, lambda: x.scratch((3, x.rows), with_memory))

    each_matrix(buffers, solve, are_complex=len(buffers) == 10)


def _eliminate(
    low: Matrix,
    matrices: Sequence[Matrix],
    second: Matrix,
    pivots: Matrix,
    first: Matrix,
    x: Matrix,
    is_scaled: bool = False,
) -> tuple[Number, Number]:
    """Compute the upper factor and solve with the lower one.

    Return the 1-based index of the first pivot that is 0, and the largest absolute value of the factor's rows except
    the last two and of the matrix's first row. `is_scaled`: pivots are compared relative to their rows, as in lagtf.
    """
    d, up, b = matrices
    last, zero = as_index(x.rows) - 1, x.real(0.0)

    def start(i: Number) -> None:
        pivots[i], first[i], second[i] = d[i], up[i], zero

    loops.for_range(0, x.rows, start)
    x.copy(b)

    def step(k: Number, failed: Number, scale: Number, most: Number) -> list[Number]:
        below, has_more = low[k + 1], k + 1 < last
        own, other = absolute(pivots[k]), absolute(below)
        is_zero = (own == 0.0) & (other == 0.0)
        of_first = absolute(first[k])
        scale, most = select(k == 0, own + of_first, scale), select(k == 0, larger(own, of_first), most)
        following = other + absolute(pivots[k + 1]) + select(has_more, absolute(first[k + 1]), zero)
        stays = own / scale >= other / following if is_scaled else own >= other

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
            select(is_zero & (failed == 0), (k + 1).to("i32"), failed),
            select(stays | (other == 0.0), following, swapped),
            select(has_more, larger(of_row, most), most),
        ]

    failed, _, most = loops.for_range(0, last, step, constant(0, "i32"), zero, zero)
    is_singular = loops.and_then(last >= 0, lambda: absolute(pivots[last]) == 0.0)
    return select(is_singular & (failed == 0), (last + 1).to("i32"), failed), most


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
    least = row.real(2.0**-126 if row.epsilon > 2.0**-52 else 2.0**-1022)
    real = pivot.real if isinstance(pivot, Complex) else pivot
    with_real = lambda real: Complex(real, pivot.imag) if isinstance(pivot, Complex) else real  # noqa: E731

    def overflows(real: Number, _: Number) -> Number:
        size = absolute(with_real(real))
        return (size < 1.0) & ((size == 0.0) | (largest * least > size))

    grow = lambda real, change: (real + change, change * 2.0)  # noqa: E731
    found = loops.repeat_while([real, with_sign_of(larger(change, least), real)], overflows, grow)[0]
    return with_real(found)


def tridiagonal_solved(node: Node, low: Tensor, d: Tensor, up: Tensor, b: Tensor) -> list[Tensor]:
    """Return the diagonals of the upper factor, the second superdiagonal first; the solution; and `info`."""
    batch, (n, columns) = Batch.of(node, b), sizes.sizes_of(Value(ssa=b))[-2:]
    dtype, given = Value(ssa=b).dtype, [*(batch.flat(tensor, 1) for tensor in (low, d, up)), batch.flat(b)]
    return batch.call(tridiagonal_kernel, given, *[((n,), dtype)] * 3, ((n, columns), dtype), ((), "i32"))


def perturbed_tridiagonal_solved(node: Node, *tensors: Tensor) -> list[Tensor]:
    """Return the solution of systems that may be singular: the diagonals and right sides, all of them or in parts."""
    sides = len(tensors) // 4
    batch, (n, columns) = Batch.of(node, tensors[-1]), sizes.sizes_of(Value(ssa=tensors[-1]))[-2:]
    given = [batch.flat(tensor, 1 if place < 3 * sides else 2) for place, tensor in enumerate(tensors)]
    return batch.call(perturbed_tridiagonal_kernel, given, *[((n, columns), Value(ssa=tensors[-1]).dtype)] * sides)
