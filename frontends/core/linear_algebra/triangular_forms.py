# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schur and Hessenberg forms of matrices, and tridiagonal forms of symmetric matrices, as in LAPACK."""

from __future__ import annotations

from ....dialects import relax
from ....emit import loops
from ....emit.numbers import Number, select
from .. import sizes
from ..node import Node
from ..values import Tensor, Value
from .eigenvalues import tridiagonalize
from .matrix_loops import Batch, Matrix, each_matrix, largest, transposed
from .schur_form import find, reduce


def schur_kernel(a: Tensor, t: Tensor, z: Tensor, real: Tensor, imag: Tensor) -> None:
    """Compute A = Zᵀ T Z, and the eigenvalues. Eigenvalues that are not found are NaN."""
    each_matrix([a, t, z, real, imag], _schur)


def _schur(a: Matrix, t: Matrix, z: Matrix, real: Matrix, imag: Matrix) -> None:
    t.copy(a)
    z.fill(lambda i, j: select(i == j, z.real(1.0), 0.0))
    real.fill(lambda i: real.real(float("nan")))
    imag.fill(lambda i: imag.real(0.0))
    find(t, z, real, imag)


def schur_of(node: Node, a: Tensor) -> list[Tensor]:
    """Return the triangle, its vectors as columns, and the eigenvalues' real and imaginary parts."""
    batch, n, dtype = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-1], Value(ssa=a).dtype
    t, z, real, imag = batch.call(schur_kernel, [batch.flat(a)], *[((n, n), dtype)] * 2, *[((n,), dtype)] * 2)
    return [t, transposed(z), real, imag]


def hessenberg_kernel(a: Tensor, h: Tensor, tau: Tensor) -> None:
    """Compute the Hessenberg form. The vectors of the reflections are below the first subdiagonal."""
    each_matrix([a, h, tau], _hessenberg)


def _hessenberg(a: Matrix, h: Matrix, tau: Matrix) -> None:
    h.copy(a)
    h.scratch([h.rows], lambda v: h.scratch([h.rows], lambda along: reduce(h, None, v, along, tau)))


def hessenberg_of(node: Node, a: Tensor) -> list[Tensor]:
    """Return the Hessenberg form with the reflections, and the reflections' factors."""
    batch, n, dtype = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-1], Value(ssa=a).dtype
    return batch.call(hessenberg_kernel, [batch.flat(a)], ((n, n), dtype), ((_less_one(n),), dtype))


def _less_one(n: sizes.Size) -> sizes.Size:
    """Return n - 1, the size of LAPACK's off-diagonal arrays. A matrix without elements gives 0."""
    return max(n - 1, 0) if isinstance(n, int) else sizes.minus(n, 1)


def tridiagonal_kernel(a: Tensor, out: Tensor, d: Tensor, e: Tensor, tau: Tensor) -> None:
    """Reduce the lower triangle in place, to the diagonals and, below them, a column for each reflection."""
    each_matrix([a, out, d, e, tau], _tridiagonal)


def _tridiagonal(a: Matrix, out: Matrix, d: Matrix, e: Matrix, tau: Matrix) -> None:
    def below(i: Number, j: Number) -> Number:
        return loops.when(i < j, lambda: a[j, i], lambda: a[i, j], [a.element])[0]

    def reduced(work: Matrix, along: Matrix, beside: Matrix) -> None:
        work.fill(below)
        scale = largest(work)
        work.fill(lambda i, j: work[i, j] / scale)
        tridiagonalize(work, beside, along, tau)
        d.fill(lambda i: work[i, i] * scale)
        e.fill(lambda i: beside[i] * scale)
        out.fill(lambda i, j: select(j < i, work[j, i], a[i, j]))
        loops.for_range(0, e.rows, lambda i: out.__setitem__((i + 1, i), e[i]))
        loops.for_range(0, d.rows, lambda i: out.__setitem__((i, i), d[i]))

    def use(work: Matrix) -> None:
        work.scratch([work.rows], lambda x: work.scratch([work.rows], lambda y: reduced(work, x, y)))

    a.scratch(a.sizes, use)


def tridiagonal_of(node: Node, a: Tensor, is_upper: bool) -> list[Tensor]:
    """Return the form with its reflections, both diagonals, and the reflections' factors.

    Upper forms are reduced from the last column on: as lower forms, in the reverse order of rows and columns.
    """
    rank = a.type.rank
    if is_upper:
        a = relax.flip(relax.flip(a, axis=rank - 1), axis=rank - 2)
    batch, n, dtype = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-1], Value(ssa=a).dtype
    results = [((n, n), dtype), ((n,), dtype), *[((_less_one(n),), dtype)] * 2]
    out, *vectors = batch.call(tridiagonal_kernel, [batch.flat(a)], *results)
    if not is_upper:
        return [out, *vectors]
    turned = [relax.flip(vector, axis=rank - 2) for vector in vectors]
    return [relax.flip(relax.flip(out, axis=rank - 1), axis=rank - 2), *turned]
