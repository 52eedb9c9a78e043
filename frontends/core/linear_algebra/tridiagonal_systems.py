# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Systems of linear equations with tridiagonal matrices, by Gaussian elimination with partial pivoting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....emit import loops
from ....emit.numbers import Number, Size, as_index, constant, larger, select
from .. import sizes
from ..node import Node
from ..values import Tensor, Value
from .matrix_loops import Batch, Matrix, absolute, each_matrix, folded, steps, with_sign_of


def tridiagonal_kernel(*buffers: Tensor) -> None:
    """Solve systems as LAPACK's gtsv does: three diagonals and right sides, then the results.

    The first element of the lower diagonal and the last element of the upper one are not read. The results are the
    diagonals of the upper factor, the second superdiagonal first, then the solution, then the 1-based index of the
    first pivot that is 0.
    """

    def solve(low: Matrix, d: Matrix, up: Matrix, b: Matrix, *results: Matrix) -> None:
        second, pivots, first, x, info = results
        info[()] = _eliminate(low, (d, up, b), second, pivots, first, x)
        _substitute_back(second, pivots, first, x, lambda i: pivots[i])

    each_matrix(buffers, solve)


def perturbed_tridiagonal_kernel(*buffers: Tensor) -> None:
    """Solve systems that may be singular, as LAPACK's lagts does: three diagonals and right sides, then the solution.

    A pivot that would make a quotient overflow grows by the rounding error of the upper factor, doubled until the
    quotient is finite. Inverse iteration for eigenvectors solves such systems.
    """

    def solve(low: Matrix, d: Matrix, up: Matrix, b: Matrix, x: Matrix) -> None:
        def with_memory(factor: Matrix) -> None:
            second, pivots, first = map(factor.row, range(3))
            _eliminate(low, (d, up, b), second, pivots, first, x)
            change = _largest(factor, x.rows) * x.epsilon
            _substitute_back(second, pivots, first, x, lambda i: _perturbed(pivots[i], x.row(i), change))

        x.scratch((3, x.rows), with_memory)

    each_matrix(buffers, solve)


def _eliminate(
    low: Matrix, given: Sequence[Matrix], second: Matrix, pivots: Matrix, first: Matrix, x: Matrix
) -> Number:
    """Compute the upper factor and solve with the lower one; return the 1-based index of the first pivot that is 0."""
    d, up, b = given
    last = as_index(x.rows) - 1

    def start(i: Number) -> None:
        pivots[i], first[i], second[i] = d[i], up[i], x.real(0.0)

    loops.for_range(0, x.rows, start)
    x.copy(b)

    def step(k: Number, failed: Number) -> Number:
        below, has_more = low[k + 1], k + 1 < last
        is_zero = (pivots[k] == 0.0) & (below == 0.0)

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

        goes_on = lambda: loops.when(absolute(pivots[k]) >= absolute(below), eliminate, swap)  # noqa: E731
        loops.when(below != 0.0, goes_on)
        return select(is_zero & (failed == 0), (k + 1).to("i32"), failed)

    failed = folded(0, last, step, constant(0, "i32"))
    is_singular = loops.and_then(last >= 0, lambda: pivots[last] == 0.0)
    return select(is_singular & (failed == 0), (last + 1).to("i32"), failed)


def _substitute_back(
    second: Matrix,
    pivots: Matrix,
    first: Matrix,
    x: Matrix,
    pivot: Callable[[Number], Number],
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


def _largest(factor: Matrix, count: Size) -> Number:
    """Return the largest absolute value of the factor's entries. The last entry of the superdiagonal is not one."""
    last = as_index(count) - 1
    of_row = lambda row, end, most: folded(0, end, lambda i, best: larger(absolute(factor[row, i]), best), most)  # noqa: E731
    return of_row(0, last, of_row(2, last, of_row(1, count, factor.real(0.0))))


def _perturbed(pivot: Number, row: Matrix, change: Number) -> Number:
    """Return a pivot by which a row can be divided without overflow: the pivot, or a perturbed pivot."""
    largest = folded(0, row.rows, lambda j, best: larger(absolute(row[j]), best), row.real(0.0))
    least = row.real(2.0**-126 if row.epsilon > 2.0**-52 else 2.0**-1022)

    def overflows(pivot: Number, _: Number) -> Number:
        size = absolute(pivot)
        return (size < 1.0) & ((size == 0.0) | (largest * least > size))

    grow = lambda pivot, change: (pivot + change, change * 2.0)  # noqa: E731
    found: Number = loops.repeat_while([pivot, with_sign_of(larger(change, least), pivot)], overflows, grow)[0]
    return found


def tridiagonal_solved(node: Node, low: Tensor, d: Tensor, up: Tensor, b: Tensor) -> list[Tensor]:
    """Return the diagonals of the upper factor, the second superdiagonal first; the solution; and `info`."""
    batch, (n, columns) = Batch.of(node, b), sizes.sizes_of(Value(ssa=b))[-2:]
    dtype, given = Value(ssa=b).dtype, [*(batch.flat(each, 1) for each in (low, d, up)), batch.flat(b)]
    return batch.call(tridiagonal_kernel, given, *[((n,), dtype)] * 3, ((n, columns), dtype), ((), "i32"))


def perturbed_tridiagonal_solved(node: Node, low: Tensor, d: Tensor, up: Tensor, b: Tensor) -> list[Tensor]:
    """Return the solution of systems that may be singular."""
    batch, (n, columns) = Batch.of(node, b), sizes.sizes_of(Value(ssa=b))[-2:]
    given = [*(batch.flat(each, 1) for each in (low, d, up)), batch.flat(b)]
    return batch.call(perturbed_tridiagonal_kernel, given, ((n, columns), Value(ssa=b).dtype))
