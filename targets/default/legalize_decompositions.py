# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cholesky, LU and QR factorizations and triangular systems as loops, with LAPACK's signs and pivots.

Kernels process rows from the first column to the last, so that inner loops run over contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...bindings.ir import Value
from ...bindings.rewriting import located_error
from ...dialects import relax
from ...dialects.core.opdef import Call
from ...emit import loops
from ...emit.matrices import Matrix, absolute, folded, for_each_matrix, root, steps, total, with_sign_of
from ...emit.numbers import Number, constant, larger, minimum, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ...support.lapack import INSTALL

#: Operators without loops, which need LAPACK.
WITHOUT_LOOPS = tuple(
    f"relax.linalg.{name}"
    for name in ("pivoted_qr eigh svd eig schur hessenberg tridiagonal solve_tridiagonal ldl_factor ldl_solve".split())
)


def needs_lapack(call: Call) -> bool:
    """Return True if no loops compute an operator's call."""
    return call.definition.full_name in WITHOUT_LOOPS or call.attributes.get("complex", False)


@register_legalize(WITHOUT_LOOPS)
def refuse(call: LegalizeCall) -> Legalized:
    """Refuse an operator that only LAPACK computes."""
    what = "complex matrices need LAPACK" if call.inferred.attributes.get("complex") else "the operator needs LAPACK"
    reason = INSTALL if call.target.name == "llvm" else "Compile this part for the target 'llvm'"
    message = f"{call.op.operation.name} for target '{call.target}': {what}, which runs on CPUs. {reason}"
    raise located_error(message, call.op.operation.location)


def _run(call: LegalizeCall, kernel: Callable[..., None], *operands: Value) -> list[Value]:
    """Call a kernel for each matrix of the operands and results."""
    batch = len(call.shape(call.operands[0])) - 2
    return call.loops(lambda *buffers: for_each_matrix(buffers, kernel, batch), operands or None)


def _transpose(tensor: Value) -> Value:
    rank = tensor.type.rank
    return relax.permute_dims(tensor, axes=[*range(rank - 2), rank - 1, rank - 2])


# ---- Cholesky: A = Uᵀ U ----


@register_legalize("relax.linalg.cholesky")
def cholesky(call: LegalizeCall) -> Legalized:
    if call.inferred.complex:
        return refuse(call)
    if call.inferred.upper:
        return _run(call, _cholesky)
    factor, info = _run(call, _cholesky, _transpose(call.operands[0]))
    return [_transpose(factor), info]


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


# ---- LU: A = P L U ----


@register_legalize("relax.linalg.lu_factor")
def lu_factor(call: LegalizeCall) -> Legalized:
    return refuse(call) if call.inferred.complex else _run(call, _lu)


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

    info[()] = folded(0, minimum(lu.rows, lu.columns), step, constant(0, "i32"))


# ---- QR by reflections: A = H1 H2 ... R, H = I - tau v vᵀ ----


@register_legalize("relax.linalg.qr_factor")
def qr_factor(call: LegalizeCall) -> Legalized:
    return refuse(call) if call.inferred.complex else _run(call, _qr)


@register_legalize("relax.linalg.multiply_q")
def multiply_q(call: LegalizeCall) -> Legalized:
    return refuse(call) if call.inferred.complex else _run(call, partial(_multiply_q, not call.inferred.adjoint))


def _qr(a: Matrix, qr: Matrix, tau: Matrix) -> None:
    qr.copy(a)

    def use(along: Matrix) -> None:
        def step(k: Number) -> None:
            tau[k] = _set_reflection(qr, k)
            _reflect(qr, k, tau[k], qr, k + 1, along)

        loops.for_range(0, tau.rows, step)

    qr.scratch([qr.columns], use)


def _set_reflection(qr: Matrix, k: Number) -> Number:
    """Make a column 0 below the diagonal, and return the reflection's factor.

    The reflection's vector is below the diagonal afterwards. Its first element is 1.
    """
    largest = folded(k, qr.rows, lambda i, best: larger(absolute(qr[i, k]), best), qr.real(0.0))
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


def _reflect(v: Matrix, k: Number, tau: Number, c: Matrix, start: Number | int, along: Matrix) -> None:
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


def _multiply_q(is_backwards: bool, v: Matrix, tau: Matrix, c: Matrix, out: Matrix) -> None:
    out.copy(c)
    # The rows hold no more reflections.
    count = minimum(minimum(v.rows, v.columns), tau.rows)
    apply = lambda along: steps(  # noqa: E731
        0, count, lambda k: _reflect(v, k, tau[k], out, 0, along), backwards=is_backwards
    )
    out.scratch([out.columns], apply)


# ---- triangular systems ----


@register_legalize("relax.linalg.solve_triangular")
def solve_triangular(call: LegalizeCall) -> Legalized:
    inferred = call.inferred
    if inferred.complex:
        return refuse(call)
    return _run(call, partial(_solve_triangular, inferred.upper, inferred.unit_diagonal, inferred.transpose != "none"))


def _solve_triangular(is_upper: bool, is_unit: bool, is_transposed: bool, a: Matrix, b: Matrix, x: Matrix) -> None:
    x.copy(b)
    element = lambda i, k: a[k, i] if is_transposed else a[i, k]  # noqa: E731
    is_backwards = is_upper != is_transposed

    def row(i: Number) -> None:
        start, stop = (i + 1, x.rows) if is_backwards else (0, i)
        loops.for_range(start, stop, lambda k: x.add_row(i, -element(i, k), x, k))
        if is_unit:
            return
        divisor = element(i, i)

        def divide(j: Number) -> None:
            x[i, j] = x[i, j] / divisor

        loops.for_range(0, x.columns, divide)

    steps(0, x.rows, row, backwards=is_backwards)
