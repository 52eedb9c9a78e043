# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of LDL factorizations of symmetric matrices that need not be positive, with LAPACK's pivots.

A = L D Lᵀ with blocks of one or two rows on D's diagonal.
"""

from __future__ import annotations

import math

from relax_mlir.emit import loops
from relax_mlir.emit.numbers import Number, as_index, constant, maximum, minimum, select
from relax_mlir.frontends.core.linear_algebra.factorizations import require_success
from relax_mlir.frontends.core.linear_algebra.linear_systems import System
from relax_mlir.frontends.core.linear_algebra.matrix_loops import Batch, Matrix, absolute, each_matrix, transposed

from ..prelude import Outputs, Tensor, TorchNode, register_torch, relax, sizes

#: Smallest pivot of one row relative to the largest element of its column. It minimizes the growth of rounding errors.
_SMALLEST = (1 + math.sqrt(17)) / 8


def factor_kernel(a: Tensor, factors: Tensor, pivots: Tensor, info: Tensor) -> None:
    """Factorize from the upper triangle. The columns of L become rows.

    A pivot is the 1-based index of the swapped row, negative for both rows of a block. `info` is the first row of
    zeros, or 0.
    """
    each_matrix([a, factors, pivots, info], _factor)


def _factor(a: Matrix, u: Matrix, pivots: Matrix, info: Matrix) -> None:
    u.copy(a)

    def step(k: Number, failed: Number) -> list[Number]:
        largest, place = _largest(u, k, k + 1)
        own = absolute(u[k, k])
        is_zero = (maximum(own, largest) == 0.0) | (own != own)
        is_good = is_zero | (own >= largest * _SMALLEST)
        types = [place.type, failed.type]
        found = loops.when(is_good, lambda: [k, constant(1, "i32")], lambda: _pivot(u, k, own, largest, place), types)
        other, width = found
        last = k + as_index(width) - 1
        loops.when(other != last, lambda: _swap(u, k, last, other))
        loops.when((width == 1) & ~is_zero, lambda: _eliminate(u, k))
        loops.when(width == 2, lambda: _eliminate_pair(u, k))
        shown = (other + 1).to("i32")
        pivots[k] = select(width == 1, shown, -shown)
        pivots[last] = pivots[k]
        return [last + 1, select(is_zero & (failed == 0), shown, failed)]

    info[()] = loops.repeat_while([as_index(0), constant(0, "i32")], lambda k, _: k < u.rows, step)[1]


def _largest(u: Matrix, row: Number, start: Number) -> list[Number]:
    """Return the largest absolute value of a row's elements from a column on, and its index."""

    def compare(j: Number, best: Number, place: Number) -> list[Number]:
        size = absolute(u[row, j])
        is_larger = size > best
        return [select(is_larger, size, best), select(is_larger, j, place)]

    found: list[Number] = loops.for_range(start, u.columns, compare, u.real(0.0), row)
    return found


def _pivot(u: Matrix, k: Number, own: Number, largest: Number, place: Number) -> list[Number]:
    """Return the row to swap in, and the number of rows in the block."""
    above = lambda i, best: maximum(best, absolute(u[i, place]))  # noqa: E731
    beside = maximum(loops.for_range(k, place, above, u.real(0.0))[0], _largest(u, place, place + 1)[0])
    stays = own >= largest * _SMALLEST * (largest / beside)
    is_alone = stays | (absolute(u[place, place]) >= beside * _SMALLEST)
    one, two = (constant(count, "i32") for count in (1, 2))
    return [select(stays, k, place), select(is_alone, one, two)]


def _swap(u: Matrix, k: Number, one: Number, other: Number) -> None:
    """Swap two rows and columns of the remaining matrix.

    In a block of two, the off-diagonal element is above the swapped rows.
    """
    loops.for_range(other + 1, u.columns, lambda i: u.exchange((one, i), (other, i)))
    loops.for_range(one + 1, other, lambda i: u.exchange((one, i), (i, other)))
    u.exchange((one, one), (other, other))
    loops.when(k != one, lambda: u.exchange((k, one), (k, other)))


def _eliminate(u: Matrix, k: Number) -> None:
    inverse = 1.0 / u[k, k]

    def row(j: Number) -> None:
        u.add_row(j, -(inverse * u[k, j]), u, k, start=j)

    def scale(j: Number) -> None:
        u[k, j] = u[k, j] * inverse

    loops.for_range(k + 1, u.rows, row)
    loops.for_range(k + 1, u.columns, scale)


def _eliminate_pair(u: Matrix, k: Number) -> None:
    beside = u[k, k + 1]
    first, second = u[k + 1, k + 1] / beside, u[k, k] / beside
    scale = 1.0 / (first * second - 1.0) / beside

    def row(j: Number) -> None:
        one, other = u[k, j], u[k + 1, j]
        one, other = scale * (first * one - other), scale * (second * other - one)
        u.add_row(j, -one, u, k, start=j)
        u.add_row(j, -other, u, k + 1, start=j)
        u[k, j], u[k + 1, j] = one, other

    loops.for_range(k + 2, u.rows, row)


def solve_kernel(factors: Tensor, pivots: Tensor, b: Tensor, out: Tensor) -> None:
    """Solve A X = B by a factorization of A."""
    each_matrix([factors, pivots, b, out], _solve)


def _solve(a: Matrix, pivots: Matrix, b: Matrix, x: Matrix) -> None:
    x.copy(b)
    last = as_index(a.rows) - 1

    def forward(k: Number) -> Number:
        is_pair = (pivots[k] < 0) & (k < last)
        loops.when(is_pair, lambda: _forward_pair(a, pivots, x, k), lambda: _forward(a, pivots, x, k))
        return select(is_pair, k + 2, k + 1)

    def backward(k: Number) -> Number:
        is_pair = (pivots[k] < 0) & (k > 0)
        _subtract_below(a, x, k, k + 1)
        loops.when(is_pair, lambda: _subtract_below(a, x, k - 1, k + 1))
        x.swap_rows(k, _other(pivots, k))
        return select(is_pair, k - 2, k - 1)

    loops.repeat_while([as_index(0)], lambda k: k <= last, forward)
    loops.repeat_while([last], lambda k: k >= 0, backward)


def _other(pivots: Matrix, k: Number) -> Number:
    """Return the row that was swapped with this one. Invalid pivots are clamped."""
    place, count = as_index(pivots[k]), as_index(pivots.rows)
    return minimum(maximum(select(place < 0, -place, place), 1), count) - 1


def _forward(a: Matrix, pivots: Matrix, x: Matrix, k: Number) -> None:
    x.swap_rows(k, _other(pivots, k))
    loops.for_range(k + 1, x.rows, lambda i: x.add_row(i, -a[i, k], x, k))
    divisor = a[k, k]

    def divide(j: Number) -> None:
        x[k, j] = x[k, j] / divisor

    loops.for_range(0, x.columns, divide)


def _forward_pair(a: Matrix, pivots: Matrix, x: Matrix, k: Number) -> None:
    x.swap_rows(k + 1, _other(pivots, k))

    def subtract(i: Number) -> None:
        x.add_row(i, -a[i, k], x, k)
        x.add_row(i, -a[i, k + 1], x, k + 1)

    loops.for_range(k + 2, x.rows, subtract)
    beside = a[k + 1, k]
    first, second = a[k, k] / beside, a[k + 1, k + 1] / beside
    whole = first * second - 1.0

    def solve(j: Number) -> None:
        one, other = x[k, j] / beside, x[k + 1, j] / beside
        x[k, j] = (second * one - other) / whole
        x[k + 1, j] = (first * other - one) / whole

    loops.for_range(0, x.columns, solve)


def _subtract_below(a: Matrix, x: Matrix, k: Number, start: Number) -> None:
    """Subtract the rows of X from one on, weighted by column k of L."""
    loops.for_range(start, x.rows, lambda i: x.add_row(k, -a[i, k], x, i))


@register_torch("aten::linalg_ldl_factor_ex", "aten::linalg_ldl_factor")
def ldl_factor(node: TorchNode) -> Outputs:
    """Convert ldl_factor, which reads the lower triangle."""
    batch, n, dtype = Batch.of(node, node.tensor(0)), sizes.sizes_of(node.value(0))[-1], node.value(0).dtype
    upper = transposed(relax.tril(node.tensor(0)))
    rows, pivots, info = batch.call(factor_kernel, [batch.flat(upper)], ((n, n), dtype), ((n,), "i32"), ((), "i32"))
    if "factor_ex" in node.op:
        return [transposed(rows), pivots, info]
    require_success(info, "a matrix is singular: a block of its LDL factorization is 0")
    return [transposed(rows), pivots]


@register_torch("aten::linalg_ldl_solve")
def ldl_solve(node: TorchNode) -> Outputs:
    system = System(node, node.tensor("LD"), node.tensor("B"))
    return system.solved(solve_kernel, system.a, system.batch.spread(node.tensor("pivots"), 1))
