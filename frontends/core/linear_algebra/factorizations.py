# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cholesky, LU and QR factorizations, with LAPACK's signs and pivots.

Kernels process rows from the first column to the last, so that inner loops run over contiguous memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....dialects import relax
from ....emit import loops
from ....emit.numbers import Number, as_index, constant, select
from .. import sizes
from ..node import Node
from ..tensors import cast, const
from ..values import Tensor, Value
from .matrix_loops import (
    Batch,
    Matrix,
    absolute,
    each_matrix,
    fewer,
    folded,
    root,
    steps,
    total,
    transposed,
    with_sign_of,
)  # fmt: skip

# ---- Cholesky: A = Uᵀ U ----


def cholesky_kernel(a: Tensor, upper: Tensor, info: Tensor) -> None:
    """Factorize from the upper triangle of `a`. `info` is the 1-based index of the first failed step, or 0."""
    each_matrix([a, upper, info], _cholesky)


def _cholesky(a: Matrix, u: Matrix, info: Matrix) -> None:
    u.fill(lambda i, j: select(j < i, u.real(0.0), a[i, j]))

    def step(k: Number, failed: Number) -> Number:
        pivot = u[k, k]
        is_bad = ~(pivot > 0.0)
        diagonal = root(pivot)
        u[k, k] = diagonal

        def scale(j: Number) -> None:
            u[k, j] = u[k, j] / diagonal

        loops.for_range(k + 1, u.columns, scale)
        loops.for_range(k + 1, u.rows, lambda i: u.add_row(i, -u[k, i], u, k, start=i))
        return select(is_bad & (failed == 0), (k + 1).to("i32"), failed)

    info[()] = folded(0, u.rows, step, constant(0, "i32"))


def cholesky_of(node: Node, a: Tensor, is_upper: bool) -> tuple[Tensor, Tensor]:
    """Return the upper or lower factor, computed from the same triangle of `a`, and the first failed steps."""
    batch, n = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-1]
    flat = batch.flat(a if is_upper else transposed(a))
    factor, info = batch.call(cholesky_kernel, [flat], ((n, n), Value(ssa=a).dtype), ((), "i32"))
    return factor if is_upper else transposed(factor), info


def require_success(info: Tensor, problem: str) -> None:
    """Stop the program if a factorization failed. `info` is 0 for each matrix that has a factorization."""
    relax.assert_op(relax.equal(relax.sum(cast(info, "i64"), axis=None), const(0, "i64")), format=problem)


# ---- LU: A = P L U ----


def lu_kernel(a: Tensor, lu: Tensor, pivots: Tensor, info: Tensor) -> None:
    """Factorize by elimination with partial pivoting. Pivots count from 1: row k was swapped with row pivots[k]."""
    each_matrix([a, lu, pivots, info], _lu)


def _lu(a: Matrix, lu: Matrix, pivots: Matrix, info: Matrix) -> None:
    lu.copy(a)

    def step(k: Number, failed: Number) -> Number:
        def compare(i: Number, best: Number, place: Number) -> list[Number]:
            size = absolute(lu[i, k])
            is_larger = size > best
            return [select(is_larger, size, best), select(is_larger, i, place)]

        _, place = loops.for_range(k + 1, lu.rows, compare, absolute(lu[k, k]), k)
        pivots[k] = (place + 1).to("i32")
        loops.when(place != k, lambda: lu.swap_rows(k, place))
        pivot = lu[k, k]
        is_zero = pivot == 0.0
        divisor = select(is_zero, lu.real(1.0), pivot)

        def eliminate(i: Number) -> None:
            share = lu[i, k] / divisor
            lu[i, k] = share
            lu.add_row(i, -share, lu, k, start=k + 1)

        loops.for_range(k + 1, lu.rows, eliminate)
        return select(is_zero & (failed == 0), (k + 1).to("i32"), failed)

    info[()] = folded(0, fewer(lu.rows, lu.columns), step, constant(0, "i32"))


def lu_of(node: Node, a: Tensor) -> list[Tensor]:
    """Return L and U as one matrix, the pivots, and the 1-based index of the first pivot that is 0."""
    batch, (m, n) = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-2:]
    dtype = Value(ssa=a).dtype
    return batch.call(lu_kernel, [batch.flat(a)], ((m, n), dtype), ((sizes.smaller(m, n),), "i32"), ((), "i32"))


def unpacked(node: Node, lu: Tensor, pivots: Tensor) -> list[Tensor]:
    """Return P, L and U."""
    batch, (m, n) = Batch.of(node, lu), sizes.sizes_of(Value(ssa=lu))[-2:]
    k, dtype = sizes.smaller(m, n), Value(ssa=lu).dtype
    (p,) = batch.call(permutation_kernel, [batch.flat(pivots, 1)], ((m, m), dtype))
    lower = relax.tril(first_of(lu, -1, k), k=-1)
    return [p, relax.add(lower, identity(m, k, dtype)), relax.triu(first_of(lu, -2, k))]


def first_of(tensor: Tensor, axis: int, count: Any) -> Tensor:
    """Return the first `count` rows or columns."""
    value = Value(ssa=tensor)
    own = sizes.sizes_of(value)
    if own[axis] is count:
        return tensor
    made = sizes.sliced(value, {len(own) + axis: (0, count, 1)})
    own[axis] = count
    return sizes.stated(made, own)


def permutation_kernel(pivots: Tensor, p: Tensor) -> None:
    each_matrix([pivots, p], _permutation)


def _permutation(pivots: Matrix, p: Matrix) -> None:
    """Compute the product of the swaps, by applying the swaps to the identity from the last to the first."""
    p.fill(lambda i, j: select(i == j, p.real(1.0), 0.0))
    steps(0, pivots.rows, lambda k: p.swap_rows(k, as_index(pivots[k]) - 1), backwards=True)


# ---- QR by reflections: A = H1 H2 ... R, H = I - tau v vᵀ ----


def qr_kernel(a: Tensor, qr: Tensor, tau: Tensor) -> None:
    """Compute R, and the vectors of the reflections below the diagonal."""
    each_matrix([a, qr, tau], _qr)


def _qr(a: Matrix, qr: Matrix, tau: Matrix) -> None:
    qr.copy(a)

    def use(along: Matrix) -> None:
        def step(k: Number) -> None:
            tau[k] = reflection(qr, k)
            reflect(qr, k, tau[k], qr, k + 1, along)

        loops.for_range(0, tau.rows, step)

    qr.scratch([qr.columns], use)


def reflection(qr: Matrix, k: Number) -> Number:
    """Make a column 0 below the diagonal, and return the reflection's factor.

    The reflection's vector is below the diagonal afterwards. Its first element is 1.
    """
    largest = folded(k, qr.rows, lambda i, best: _larger(absolute(qr[i, k]), best), qr.real(0.0))
    scale = select(largest > 0.0, largest, qr.real(1.0))
    first = qr[k, k] / scale
    square = lambda i: (qr[i, k] / scale) * (qr[i, k] / scale)  # noqa: E731
    below = total(k + 1, qr.rows, square, qr.real(0.0))
    is_done = below == 0.0
    size = -with_sign_of(root(first * first + below), first)
    divisor = select(is_done, qr.real(1.0), (first - size) * scale)

    def divide(i: Number) -> None:
        qr[i, k] = qr[i, k] / divisor

    loops.for_range(k + 1, qr.rows, divide)
    qr[k, k] = select(is_done, qr[k, k], size * scale)
    return select(is_done, qr.real(0.0), (size - first) / select(is_done, qr.real(1.0), size))


def _larger(x: Number, best: Number) -> Number:
    return select(x > best, x, best)


def reflect(v: Matrix, k: Number, tau: Number, c: Matrix, start: Number | int, along: Matrix) -> None:
    """Apply a reflection to the columns of `c` from `start` on. `along` is scratch memory for a row."""

    def first(j: Number) -> None:
        along[j] = c[k, j]

    def add(i: Number) -> None:
        factor = v[i, k]

        def each(j: Number) -> None:
            along[j] = along[j] + factor * c[i, j]

        loops.for_range(start, c.columns, each)

    def subtract(i: Number | None) -> None:
        row = k if i is None else i
        factor = tau if i is None else tau * v[i, k]

        def each(j: Number) -> None:
            c[row, j] = c[row, j] - factor * along[j]

        loops.for_range(start, c.columns, each)

    def apply() -> None:
        loops.for_range(start, c.columns, first)
        loops.for_range(k + 1, c.rows, add)
        subtract(None)
        loops.for_range(k + 1, c.rows, subtract)

    loops.when(tau != 0.0, apply)


@dataclass(frozen=True)
class Reflect:
    """Kernel of a product of reflections with a matrix, or of their transposed product with a matrix."""

    is_transposed: bool
    __name__ = "reflect"

    def __call__(self, v: Tensor, tau: Tensor, c: Tensor, out: Tensor) -> None:
        each_matrix([v, tau, c, out], self._one)

    def _one(self, v: Matrix, tau: Matrix, c: Matrix, out: Matrix) -> None:
        out.copy(c)
        apply = lambda along: steps(  # noqa: E731
            0, tau.rows, lambda k: reflect(v, k, tau[k], out, 0, along), backwards=not self.is_transposed
        )
        out.scratch([out.columns], apply)


def qr_of(node: Node, a: Tensor, dtype: str) -> tuple[Tensor, Tensor]:
    batch, (m, n) = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-2:]
    made = batch.call(qr_kernel, [batch.flat(a)], ((m, n), dtype), ((sizes.smaller(m, n),), dtype))
    return made[0], made[1]


def reflected(node: Node, v: Tensor, tau: Tensor, c: Tensor, is_transposed: bool = False) -> Tensor:
    """Return H1 H2 ... times `c`, or the transposed product times `c`."""
    batch = Batch.of(node, v)
    own = sizes.sizes_of(Value(ssa=c))[-2:]
    flat = [batch.flat(v), batch.flat(tau, 1), batch.spread(c)]
    return batch.call(Reflect(is_transposed), flat, (own, Value(ssa=c).dtype))[0]


def multiplied_by_q(node: Node, v: Tensor, tau: Tensor, c: Tensor, is_left: bool, is_transposed: bool) -> Tensor:
    """Multiply `c` by the product of the reflections from one side. The right side uses the transposed matrices."""
    if is_left:
        return reflected(node, v, tau, c, is_transposed)
    return transposed(reflected(node, v, tau, transposed(c), not is_transposed))


def orthogonal(node: Node, v: Tensor, tau: Tensor, columns: Any) -> Tensor:
    """Return the first columns of H1 H2 ..."""
    rows, dtype = sizes.sizes_of(Value(ssa=v))[-2], Value(ssa=v).dtype
    return reflected(node, v, tau, identity(rows, columns, dtype))


def identity(rows: Any, columns: Any, dtype: str) -> Tensor:
    return sizes.stated(relax.eye(rows, columns, dtype=dtype), [rows, columns])
