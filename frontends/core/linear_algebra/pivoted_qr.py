# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QR factorization with column pivoting: the longest remaining column comes next, as in LAPACK's geqp3."""

from __future__ import annotations

from ....emit import loops
from ....emit.numbers import Number, as_index, select
from .. import sizes
from ..node import Node
from ..values import Tensor, Value
from .factorizations import reflect, reflection
from .matrix_loops import Batch, Matrix, each_matrix, folded, largest, total


def pivoted_qr_kernel(a: Tensor, chosen: Tensor, qr: Tensor, order: Tensor, tau: Tensor) -> None:
    """Factorize with column pivoting.

    Columns with a nonzero `chosen` number come first. `order` counts columns from 1.
    """
    each_matrix([a, chosen, qr, order, tau], _pivoted_qr)


def _pivoted_qr(a: Matrix, chosen: Matrix, qr: Matrix, order: Matrix, tau: Matrix) -> None:
    qr.copy(a)
    order.fill(lambda j: (as_index(j) + 1).to("i32"))
    scale = largest(qr)

    def swap(one: Number, other: Number) -> None:
        loops.for_range(0, qr.rows, lambda i: qr.exchange((i, one), (i, other)))
        order.exchange((one,), (other,))

    def take(j: Number, count: Number) -> Number:
        loops.when(chosen[j] != 0, lambda: swap(count, j))
        return count + select(chosen[j] != 0, as_index(1), as_index(0))

    count = folded(0, qr.columns, take, as_index(0))

    def square(k: Number, j: Number) -> Number:
        return total(k, qr.rows, lambda i: (qr[i, j] / scale) * (qr[i, j] / scale), qr.real(0.0))

    def longest(k: Number) -> Number:
        def compare(j: Number, best: Number, place: Number) -> list[Number]:
            size = square(k, j)
            return [select(size > best, size, best), select(size > best, j, place)]

        return loops.for_range(k + 1, qr.columns, compare, square(k, k), k)[1]

    def use(along: Matrix) -> None:
        def step(k: Number) -> None:
            place = loops.when(k < count, lambda: k, lambda: longest(k), [k.type])[0]
            loops.when(place != k, lambda: swap(k, place))
            tau[k] = reflection(qr, k)
            reflect(qr, k, tau[k], qr, k + 1, along)

        loops.for_range(0, tau.rows, step)

    qr.scratch([qr.columns], use)


def pivoted_qr_of(node: Node, a: Tensor, chosen: Tensor) -> list[Tensor]:
    """Return R with the reflections below it, the order of the columns, and the reflections' factors."""
    batch, (m, n) = Batch.of(node, a), sizes.sizes_of(Value(ssa=a))[-2:]
    dtype, given = Value(ssa=a).dtype, [batch.flat(a), batch.flat(chosen, 1)]
    return batch.call(pivoted_qr_kernel, given, ((m, n), dtype), ((n,), "i32"), ((sizes.smaller(m, n),), dtype))
