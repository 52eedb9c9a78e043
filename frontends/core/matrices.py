# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches of matrices in the graph, and factorizations and systems by the operators relax.linalg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects import relax
from ...dialects.core.infos import TensorInfo
from ...emit.matrices import Matrix, for_each_matrix, steps
from ...emit.numbers import as_index
from . import sizes
from .node import Node
from .tensors import cast, const
from .values import Tensor, Value


class Batch:
    """Batch dimensions of tensors of matrices. Kernels take the batch as one dimension."""

    def __init__(self, node: Node, lead: Sequence[sizes.Size]):
        self.node = node
        self.lead = list(lead)
        self.count = sizes.product(self.lead)

    @staticmethod
    def of(node: Node, tensor: Tensor, rank: int = 2) -> Batch:
        """Return the batch of a tensor: its dimensions in front of the last `rank`."""
        own = sizes.sizes_of(Value(ssa=tensor))
        return Batch(node, own[: len(own) - rank])

    def flat(self, tensor: Tensor, rank: int = 2) -> Tensor:
        """Return a tensor with the batch as one dimension."""
        own = sizes.sizes_of(Value(ssa=tensor))
        return sizes.reshaped(tensor, [self.count, *own[len(own) - rank :]])

    def spread(self, tensor: Tensor, rank: int = 2) -> Tensor:
        """Broadcast a tensor over the whole batch, and return it with the batch as one dimension."""
        own = sizes.sizes_of(Value(ssa=tensor))
        behind = own[len(own) - rank :]
        if len(own) - rank == len(self.lead) and own[: len(self.lead)] == self.lead:
            return self.flat(tensor, rank)
        return self.flat(sizes.broadcast(tensor, [*self.lead, *behind]), rank)

    def call(
        self, kernel: Callable[..., None], tensors: Sequence[Tensor], *results: tuple[Sequence[Any], str]
    ) -> list[Tensor]:
        """Call a kernel with flat tensors, and return the results in the batch's shape.

        Each result is described by its last sizes and its element type.
        """
        infos = [TensorInfo((self.count, *shape), dtype) for shape, dtype in results]
        made = self.node.call_tir(kernel, list(tensors), infos)
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        return [sizes.reshaped(each, [*self.lead, *shape]) for each, (shape, _) in zip(made, results, strict=True)]


def transposed(tensor: Tensor, is_complex: bool = False) -> Tensor:
    """Swap rows and columns. Complex matrices have pairs in a last dimension."""
    *batch, rows, columns = range(tensor.type.rank - is_complex)
    return relax.permute_dims(tensor, axes=[*batch, columns, rows, *range(columns + 1, tensor.type.rank)])


def require_success(info: Tensor, problem: str) -> None:
    """Stop the program if a factorization failed. `info` is 0 for each matrix that has a factorization."""
    relax.assert_op(relax.equal(relax.sum(cast(info, "i64"), axis=None), const(0, "i64")), format=problem)


def first_of(tensor: Tensor, axis: int, count: Any) -> Tensor:
    """Return the first `count` rows or columns."""
    value = Value(ssa=tensor)
    own = sizes.sizes_of(value)
    if own[axis] is count:
        return tensor
    made = sizes.sliced(value, {len(own) + axis: (0, count, 1)})
    own[axis] = count
    return sizes.stated(made, own)


def identity(rows: Any, columns: Any, dtype: str, is_complex: bool = False) -> Tensor:
    eye = sizes.stated(relax.eye(rows, columns, dtype=dtype), [rows, columns])
    return relax.stack([eye, relax.zeros_like(eye)], axis=2) if is_complex else eye


# ---- LU factors ----


@dataclass(frozen=True)
class SwapRows:
    """Kernel that swaps row k with row pivots[k], in the order of the factorization or backwards."""

    is_backwards: bool
    __name__ = "swap_rows"

    def __call__(self, pivots: Tensor, x: Tensor, out: Tensor) -> None:
        for_each_matrix([pivots, x, out], self._swap)

    def _swap(self, pivots: Matrix, x: Matrix, out: Matrix) -> None:
        out.copy(x)
        swap = lambda k: out.swap_rows(k, as_index(pivots[k]) - 1)  # noqa: E731
        steps(0, pivots.rows, swap, backwards=self.is_backwards)


def swap_rows(batch: Batch, pivots: Tensor, x: Tensor, *, is_backwards: bool = False) -> Tensor:
    """Return a matrix with its rows swapped as the pivots state."""
    own, dtype = sizes.sizes_of(Value(ssa=x))[-2:], Value(ssa=x).dtype
    return batch.call(SwapRows(is_backwards), [batch.spread(pivots, 1), batch.spread(x)], (own, dtype))[0]


def unpack_lu(node: Node, lu: Tensor, pivots: Tensor) -> list[Tensor]:
    """Return P, L and U."""
    batch, (m, n) = Batch.of(node, lu), sizes.sizes_of(Value(ssa=lu))[-2:]
    k, dtype = sizes.smaller(m, n), Value(ssa=lu).dtype
    p = swap_rows(batch, pivots, identity(m, m, dtype), is_backwards=True)
    lower = relax.tril(first_of(lu, -1, k), k=-1)
    return [p, relax.add(lower, identity(m, k, dtype)), relax.triu(first_of(lu, -2, k))]


# ---- products with Q ----


def multiply_by_q(node: Node, v: Tensor, tau: Tensor, c: Tensor, is_left: bool, is_transposed: bool) -> Tensor:
    """Multiply `c` by the product of the reflections from one side. The right side uses the transposed matrices."""
    batch = Batch.of(node, v)
    turn = (lambda x: x) if is_left else transposed
    turned = turn(c)
    own = sizes.sizes_of(Value(ssa=turned))[-2:]
    matrix = sizes.reshaped(batch.spread(turned), [*batch.lead, *own])
    return turn(relax.linalg.multiply_q(v, tau, matrix, adjoint=is_transposed == is_left))


def build_q(node: Node, v: Tensor, tau: Tensor, columns: Any, is_complex: bool = False) -> Tensor:
    """Return the first columns of Q."""
    rank, own, dtype = 2 + is_complex, sizes.sizes_of(Value(ssa=v)), Value(ssa=v).dtype
    eye = identity(own[-rank], columns, dtype, is_complex)
    batch = Batch.of(node, v, rank)
    matrix = sizes.reshaped(batch.spread(eye, rank), [*batch.lead, own[-rank], columns, *own[len(own) - is_complex :]])
    return relax.linalg.multiply_q(v, tau, matrix, complex=is_complex)


# ---- systems ----


class System:
    """System A X = B in the graph: both operands in one batch. If B was given as vectors, so is the solution."""

    def __init__(self, node: Node, a: Tensor, b: Tensor, is_vector: bool = False, is_complex: bool = False):
        own, other = (sizes.sizes_of(Value(ssa=tensor)) for tensor in (a, b))
        self.is_vector, self.is_complex, self._rank = is_vector, is_complex, 2 + is_complex
        if is_vector:
            place = len(other) - is_complex
            b = relax.expand_dims(b, axis=[place])
            other = [*other[:place], 1, *other[place:]]
        lead = _broadcast(node, *(each[: len(each) - self._rank] for each in (own, other)))
        self.batch, self.sizes = Batch(node, lead), other[len(other) - self._rank :]
        self.a, self.b = self.batch.spread(a, self._rank), self.batch.spread(b, self._rank)
        self.dtype = Value(ssa=b).dtype

    def solve_triangular(self, factor: Tensor | None = None, x: Tensor | None = None, **options: Any) -> Tensor:
        """Solve with a triangular A, or another factor and right side, and return flat matrices."""
        a, b = self.a if factor is None else factor, self.b if x is None else x
        return relax.linalg.solve_triangular(a, b, complex=self.is_complex, **options)

    def solve_lu(self, pivots: Tensor, *, form: str = "none") -> Tensor:
        """Solve A X = B, or the transposed or adjoint system, by the factors of A, which are the operand A."""
        pivots = self.batch.spread(pivots, 1)
        lower: dict[str, Any] = {"upper": False, "unit_diagonal": True, "transpose": form}
        upper: dict[str, Any] = {"upper": True, "unit_diagonal": False, "transpose": form}
        if form != "none":
            x = self.solve_triangular(x=self.solve_triangular(**upper), **lower)
            return self.shape(self._swap_rows(pivots, x, is_backwards=True))
        x = self.solve_triangular(x=self._swap_rows(pivots, self.b), **lower)
        return self.shape(self.solve_triangular(x=x, **upper))

    def _swap_rows(self, pivots: Tensor, x: Tensor, *, is_backwards: bool = False) -> Tensor:
        flat, (rows, *others) = Batch(self.batch.node, [self.batch.count]), self.sizes
        x = sizes.reshaped(x, [self.batch.count, rows, sizes.product(others)])
        return sizes.reshaped(swap_rows(flat, pivots, x, is_backwards=is_backwards), [self.batch.count, *self.sizes])

    def shape(self, x: Tensor) -> Tensor:
        """Return a flat solution in the batch's shape."""
        x = sizes.reshaped(x, [*self.batch.lead, *self.sizes])
        return relax.squeeze(x, axis=[x.type.rank - self._rank + 1]) if self.is_vector else x


def _broadcast(node: Node, one: list[sizes.Size], other: list[sizes.Size]) -> list[sizes.Size]:
    """Return the broadcast batch dimensions."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    front = len(longer) - len(shorter)
    return [
        *longer[:front],
        *(right if left == 1 else left for left, right in zip(longer[front:], shorter, strict=True)),
    ]


def solve_triangular(
    node: Node, a: Tensor, b: Tensor, *, upper: bool, unit_diagonal: bool = False, form: str = "none",
    is_complex: bool = False,
) -> Tensor:  # fmt: skip
    """Solve A X = B for a triangular A, and batches that are broadcast."""
    system = System(node, a, b, is_complex=is_complex)
    return system.shape(system.solve_triangular(upper=upper, unit_diagonal=unit_diagonal, transpose=form))
