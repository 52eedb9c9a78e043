# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eigenvalues of symmetric matrices, by tridiagonal form and QL steps; singular values, by rotations of rows."""

from __future__ import annotations

from dataclasses import dataclass

from ....dialects import relax
from ....emit import loops
from ....emit.numbers import Number, as_index, constant, select
from .. import sizes
from ..node import Node
from ..tensors import like
from ..values import Tensor, Value
from .factorizations import first_of, orthogonal, qr_of
from .matrix_loops import (
    Batch,
    Matrix,
    absolute,
    each_matrix,
    folded,
    largest,
    root,
    steps,
    total,
    transposed,
    with_sign_of,
)  # fmt: skip

# An eigenvalue takes two or three QL steps, singular values seven or eight sweeps. Loops over NaN end at these limits.
_MOST_TURNS = 60
_MOST_SWEEPS = 40


# ---- symmetric matrices ----


@dataclass(frozen=True)
class Eigen:
    """Kernel of the eigenvalues in ascending order, and the eigenvectors as rows. The kernel reads one triangle."""

    is_upper: bool
    __name__ = "eigh"

    def __call__(self, a: Tensor, values: Tensor, vectors: Tensor) -> None:
        each_matrix([a, values, vectors], self._one)

    def _one(self, a: Matrix, d: Matrix, z: Matrix) -> None:
        def use(work: Matrix) -> None:
            below = lambda i, j: a[i, j] if self.is_upper else a[j, i]  # noqa: E731
            work.fill(lambda i, j: loops.when(i <= j, lambda: below(i, j), lambda: below(j, i), [a.element])[0])
            scale = largest(work)
            work.fill(lambda i, j: work[i, j] / scale)
            work.scratch([work.rows], lambda tau: work.scratch([work.rows], lambda e: finish(work, scale, tau, e)))

        def finish(work: Matrix, scale: Number, tau: Matrix, e: Matrix) -> None:
            tridiagonalize(work, d, e, tau)
            _accumulate(work, tau, e, z)
            _transpose(z)
            _set_off_diagonal(work, d, e)
            loops.for_range(0, z.rows, lambda place: _find(d, e, z, place))
            _sort(d, z, descending=False)
            d.fill(lambda i: d[i] * scale)

        a.scratch(a.sizes, use)


def tridiagonalize(a: Matrix, d: Matrix, e: Matrix, tau: Matrix) -> None:
    """Reduce a symmetric matrix by reflections of rows and columns.

    Row k has the vector of a reflection behind its diagonal; `d` gets the elements next to the diagonal.
    """

    def step(k: Number) -> None:
        rest = k + 1
        first, below = a[k, rest], total(rest + 1, a.columns, lambda j: a[k, j] * a[k, j], a.real(0.0))
        is_done = below == 0.0
        size = -with_sign_of(root(first * first + below), first)
        divisor = select(is_done, a.real(1.0), first - size)

        def divide(j: Number) -> None:
            a[k, j] = a[k, j] / divisor

        loops.for_range(rest + 1, a.columns, divide)
        tau[k] = select(is_done, a.real(0.0), (size - first) / select(is_done, a.real(1.0), size))
        d[k] = select(is_done, first, size)
        a[k, rest] = a.real(1.0)
        loops.when(~is_done, lambda: _reflect_both(a, k, tau[k], e))

    loops.for_range(0, a.rows - 1, step)


def _reflect_both(a: Matrix, k: Number, tau: Number, p: Matrix) -> None:
    """Subtract `v wᵀ + w vᵀ` from the part behind row k, which contains v. The kernel computes w in `p`."""
    rest = k + 1

    def clear(j: Number) -> None:
        p[j] = 0.0

    def multiply(i: Number) -> None:
        factor = tau * a[k, i]

        def each(j: Number) -> None:
            p[j] = p[j] + factor * a[i, j]

        loops.for_range(rest, a.columns, each)

    loops.for_range(rest, a.columns, clear)
    loops.for_range(rest, a.rows, multiply)
    half = total(rest, a.columns, lambda j: p[j] * a[k, j], a.real(0.0)) * tau * -0.5

    def move(j: Number) -> None:
        p[j] = p[j] + half * a[k, j]

    loops.for_range(rest, a.columns, move)

    def subtract(i: Number) -> None:
        one, other = a[k, i], p[i]

        def each(j: Number) -> None:
            a[i, j] = a[i, j] - one * p[j] - other * a[k, j]

        loops.for_range(rest, a.columns, each)

    loops.for_range(rest, a.rows, subtract)


def _accumulate(a: Matrix, tau: Matrix, along: Matrix, z: Matrix) -> None:
    """Multiply the reflections into `z`. Row k has the vector of reflection k; the off-diagonal elements are in `d`."""
    z.fill(lambda i, j: select(i == j, z.real(1.0), 0.0))

    def step(k: Number) -> None:
        rest = k + 1

        def clear(j: Number) -> None:
            along[j] = 0.0

        def add(i: Number) -> None:
            factor = a[k, i]

            def each(j: Number) -> None:
                along[j] = along[j] + factor * z[i, j]

            loops.for_range(rest, z.columns, each)

        loops.for_range(rest, z.columns, clear)
        loops.for_range(rest, z.rows, add)

        def subtract(i: Number) -> None:
            factor = tau[k] * a[k, i]

            def each(j: Number) -> None:
                z[i, j] = z[i, j] - factor * along[j]

            loops.for_range(rest, z.columns, each)

        loops.for_range(rest, z.rows, subtract)

    steps(0, z.rows - 1, step, backwards=True)


def _transpose(z: Matrix) -> None:
    def swap(i: Number) -> None:
        loops.for_range(0, i, lambda j: z.exchange((i, j), (j, i)))

    loops.for_range(0, z.rows, swap)


def _set_off_diagonal(a: Matrix, d: Matrix, e: Matrix) -> None:
    def each(k: Number) -> None:
        e[k] = d[k]

    loops.for_range(0, a.rows - 1, each)
    d.fill(lambda k: a[k, k])


def _find(d: Matrix, e: Matrix, z: Matrix, start: Number) -> None:
    """Repeat QL steps until the element at `start` is an eigenvalue."""
    last = as_index(d.rows) - 1

    def is_coupled(m: Number) -> Number:
        return loops.and_then(
            m < last, lambda: absolute(e[m]) > (absolute(d[m]) + absolute(d[m + 1])) * (d.epsilon / 2)
        )

    def turn(_: Number, count: Number) -> list[Number]:
        stop = loops.repeat_while([start], is_coupled, lambda m: m + 1)[0]
        loops.when(stop != start, lambda: _ql_step(d, e, z, start, stop))
        return [(stop != start) & (count < _MOST_TURNS), count + 1]

    loops.repeat_while([constant(True, "i1"), as_index(0)], lambda goes_on, _: goes_on, turn)


def _ql_step(d: Matrix, e: Matrix, z: Matrix, start: Number, stop: Number) -> None:
    """Do one implicit QL step with a shift on the rows from start to stop, by rotations of adjacent rows."""
    held = d[start]
    slope = (d[start + 1] - held) / (e[start] * 2.0)
    shift = d[stop] - held + e[start] / (slope + with_sign_of(root(slope * slope + 1.0), slope))

    def rotate(i: Number, sine: Number, cosine: Number, moved: Number, g: Number) -> list[Number]:
        f, b = sine * e[i], cosine * e[i]
        size = root(f * f + g * g)
        is_zero = size == 0.0
        divisor = select(is_zero, size.constant(1.0), size)
        sine, cosine = select(is_zero, size, f / divisor), select(is_zero, size.constant(1.0), g / divisor)
        e[i + 1] = size
        lower = d[i + 1] - moved
        both = (d[i] - lower) * sine + cosine * b * 2.0
        moved = sine * both
        d[i + 1] = lower + moved
        _rotate_rows(z, i + 1, i, cosine, sine)
        return [sine, cosine, moved, cosine * both - b]

    one, zero = d.real(1.0), d.real(0.0)
    _, _, moved, g = steps(start, stop, rotate, one, one, zero, shift, backwards=True)
    d[start] = d[start] - moved
    e[start] = g
    e[stop] = zero


def _rotate_rows(z: Matrix, one: Number, other: Number, cosine: Number, sine: Number) -> None:
    def each(k: Number) -> None:
        x, y = z[one, k], z[other, k]
        z[one, k] = cosine * x + sine * y
        z[other, k] = cosine * y - sine * x

    loops.for_range(0, z.columns, each)


def _sort(d: Matrix, *rows: Matrix, descending: bool) -> None:
    """Sort the values, and rows with the values."""

    def place(i: Number) -> None:
        def compare(j: Number, best: Number, found: Number) -> list[Number]:
            is_better = d[j] > best if descending else d[j] < best
            return [select(is_better, d[j], best), select(is_better, j, found)]

        best, found = loops.for_range(i + 1, d.rows, compare, d[i], i)

        def swap() -> None:
            d[found] = d[i]
            d[i] = best
            for row in rows:
                row.swap_rows(i, found)

        loops.when(found != i, swap)

    loops.for_range(0, d.rows, place)


# ---- singular values ----


def rotations_kernel(a: Tensor, values: Tensor, rotated: Tensor, rotations: Tensor) -> None:
    """Rotate rows until they are orthogonal, and sort them by descending length. `rotations` times `a` is `rotated`."""
    each_matrix([a, values, rotated, rotations], _rotate)


def _rotate(a: Matrix, values: Matrix, w: Matrix, v: Matrix) -> None:
    w.copy(a)
    scale = largest(w)
    w.fill(lambda i, j: w[i, j] / scale)
    v.fill(lambda i, j: select(i == j, v.real(1.0), 0.0))

    def sweep(_: Number, count: Number) -> list[Number]:
        values.fill(lambda i: total(0, w.columns, lambda j: w[i, j] * w[i, j], w.real(0.0)))
        pair = lambda i, moved: loops.for_range(  # noqa: E731
            i + 1, w.rows, lambda j, inner: _make_orthogonal(w, v, values, i, j) | inner, moved
        )[0]
        moved = folded(0, w.rows, pair, constant(False, "i1"))
        return [moved & (count < _MOST_SWEEPS), count + 1]

    loops.repeat_while([constant(True, "i1"), as_index(0)], lambda goes_on, _: goes_on, sweep)
    values.fill(lambda i: root(total(0, w.columns, lambda j: w[i, j] * w[i, j], w.real(0.0))) * scale)
    _sort(values, w, v, descending=True)


def _make_orthogonal(w: Matrix, v: Matrix, squares: Matrix, i: Number, j: Number) -> Number:
    """Rotate two rows to make them orthogonal. Return True if they were not.

    Rows that are negligible beside the largest row stay.
    """
    one, other = squares[i], squares[j]
    between = total(0, w.columns, lambda k: w[i, k] * w[j, k], w.real(0.0))
    nothing = (w.epsilon / 64) ** 2
    is_apart = absolute(between) > root(one) * root(other) * w.epsilon * 4.0
    is_apart = is_apart & (one > nothing) & (other > nothing)

    def rotate() -> None:
        slope = (other - one) / (between * 2.0)
        tangent = with_sign_of(w.real(1.0), slope) / (absolute(slope) + root(slope * slope + 1.0))
        cosine = 1.0 / root(tangent * tangent + 1.0)
        sine = cosine * tangent
        _rotate_rows(w, j, i, cosine, sine)
        _rotate_rows(v, j, i, cosine, sine)
        squares[i] = one - tangent * between
        squares[j] = other + tangent * between

    loops.when(is_apart, rotate)
    return is_apart


def svd_of(node: Node, a: Tensor, is_full: bool = False, with_vectors: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, S and Vᵀ of a batch of matrices.

    The kernel rotates the rows of Aᵀ. If A is known to have fewer rows than columns, the kernel rotates the rows of A,
    and U and V change places.
    """
    batch, (m, n) = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-2:]
    dtype = Value(ssa=a).dtype
    is_wide = isinstance(m, int) and isinstance(n, int) and m < n
    rows, columns = (m, n) if is_wide else (n, m)
    k = sizes.smaller(m, n)
    given = batch.flat(a if is_wide else transposed(a))
    lengths, w, v = batch.call(
        rotations_kernel, [given], ((rows,), dtype), ((rows, columns), dtype), ((rows, rows), dtype)
    )
    s = first_of(lengths, -1, k)
    if not with_vectors:
        empty = relax.zeros((0,), dtype)
        return empty, s, empty
    # The longest rows, normalized, are the left vectors. A QR factorization completes them to an orthogonal basis.
    reflections, tau = qr_of(node, transposed(first_of(w, -2, k)), dtype)
    q = orthogonal(node, reflections, tau, columns if is_full else k)
    q = relax.multiply(q, _signs(reflections, columns if is_full else k, k))
    v = v if is_full else first_of(v, -2, k)
    return (transposed(v), s, transposed(q)) if is_wide else (q, s, v)


def _signs(r: Tensor, columns: sizes.Size, known: sizes.Size) -> Tensor:
    """Return the sign of R's diagonal for each column of Q, with the shape [..., 1, columns].

    Multiplied by its sign, a column of Q points in the direction of the row that it came from.
    """
    upper = first_of(r, -2, known)
    is_diagonal = relax.equal(sizes.positions([known, known], 0), sizes.positions([known, known], 1))
    is_negative = relax.logical_and(is_diagonal, relax.less(upper, like(upper, 0)))
    one = like(upper, 1)
    signs = relax.min(relax.where(is_negative, like(upper, -1), one), axis=[-2], keepdims=True)
    own = sizes.sizes_of(Value(ssa=signs))
    if columns is known:
        return signs
    rest = sizes.full([*own[:-1], sizes.minus(columns, known)], one)
    return sizes.stated(relax.concat([signs, rest], axis=-1), [*own[:-1], columns])
