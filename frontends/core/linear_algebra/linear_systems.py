# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Systems of linear equations with triangular matrices or with LU factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....dialects import relax
from ....emit import loops
from ....emit.numbers import Number, as_index
from .. import sizes
from ..node import Node
from ..values import Tensor, Value
from .matrix_loops import Batch, Matrix, each_matrix, steps

#: `coefficient(i, k)` returns an element of a triangle.
Coefficient = Callable[[Number, Number], Number]


def _substitute(coefficient: Coefficient, x: Matrix, is_upper: bool, is_unit: bool) -> None:
    """Solve a triangular system in place."""

    def row(i: Number) -> None:
        if is_upper:
            loops.for_range(i + 1, x.rows, lambda k: x.add_row(i, -coefficient(i, k), x, k))
        else:
            loops.for_range(0, i, lambda k: x.add_row(i, -coefficient(i, k), x, k))
        if is_unit:
            return
        divisor = coefficient(i, i)

        def divide(j: Number) -> None:
            x[i, j] = x[i, j] / divisor

        loops.for_range(0, x.columns, divide)

    steps(0, x.rows, row, backwards=is_upper)


def _elements(a: Matrix, is_transposed: bool = False) -> Coefficient:
    return lambda i, k: a[k, i] if is_transposed else a[i, k]


@dataclass(frozen=True)
class SolveTriangular:
    """Kernel of A X = B for a triangular A. Elements on the other side of the diagonal are not read."""

    is_upper: bool
    is_unit: bool
    is_transposed: bool = False
    __name__ = "solve_triangular"

    def __call__(self, a: Tensor, b: Tensor, out: Tensor) -> None:
        each_matrix([a, b, out], self._one)

    def _one(self, a: Matrix, b: Matrix, out: Matrix) -> None:
        out.copy(b)
        is_upper = self.is_upper != self.is_transposed
        _substitute(_elements(a, self.is_transposed), out, is_upper, self.is_unit)


@dataclass(frozen=True)
class SolveLU:
    """Kernel of A X = B or of Aᵀ X = B for A = P L U."""

    is_transposed: bool = False
    __name__ = "solve_lu"

    def __call__(self, lu: Tensor, pivots: Tensor, b: Tensor, out: Tensor) -> None:
        each_matrix([lu, pivots, b, out], self._one)

    def _one(self, lu: Matrix, pivots: Matrix, b: Matrix, out: Matrix) -> None:
        out.copy(b)
        of = _elements(lu, self.is_transposed)
        if not self.is_transposed:
            _swap(pivots, out)
        _substitute(of, out, is_upper=False, is_unit=not self.is_transposed)
        _substitute(of, out, is_upper=True, is_unit=self.is_transposed)
        if self.is_transposed:
            _swap(pivots, out, backwards=True)


def _swap(pivots: Matrix, x: Matrix, backwards: bool = False) -> None:
    steps(0, pivots.rows, lambda k: x.swap_rows(k, as_index(pivots[k]) - 1), backwards=backwards)


class System:
    """System A X = B in the graph: both operands in one batch. If B was given as vectors, so is the solution."""

    def __init__(self, node: Node, a: Tensor, b: Tensor, is_vector: bool = False):
        own, other = (sizes.sizes_of(Value(ssa=tensor)) for tensor in (a, b))
        self.is_vector = is_vector
        if is_vector:
            b = relax.expand_dims(b, axis=[len(other)])
            other = [*other, 1]
        self.batch, self.sizes = Batch(node, _broadcast(node, own[:-2], other[:-2])), other[-2:]
        self.a, self.b = self.batch.spread(a), self.batch.spread(b)
        self.dtype = Value(ssa=b).dtype

    def solved(self, kernel: Callable[..., None], *matrices: Tensor) -> Tensor:
        """Return the solution, computed by a kernel from the factors in `matrices`, or else from A."""
        (x,) = self.batch.call(kernel, [*(matrices or [self.a]), self.b], (self.sizes, self.dtype))
        return relax.squeeze(x, axis=[-1]) if self.is_vector else x


def _broadcast(node: Node, one: list[sizes.Size], other: list[sizes.Size]) -> list[sizes.Size]:
    """Return the broadcast batch dimensions."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    front = len(longer) - len(shorter)
    return [
        *longer[:front],
        *(right if left == 1 else left for left, right in zip(longer[front:], shorter, strict=True)),
    ]


def triangular(node: Node, a: Tensor, b: Tensor, kernel: SolveTriangular) -> Tensor:
    return System(node, a, b).solved(kernel)
