# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of functions of matrices, least squares, pseudo-inverses, and distances between rows."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.emit import loops
from relax_mlir.emit.matrices import Matrix, absolute, folded, for_each_matrix, steps, total
from relax_mlir.emit.numbers import Number, as_index, intrinsic, select
from relax_mlir.frontends.core.matrices import Batch, transposed

from ..prelude import Outputs, Tensor, TorchNode, cast, const, like, register_torch, relax, sizes, wide_float

# ---- the exponential: the series for A / 2^s, then s squarings ----


def exponential_kernel(a: Tensor, out: Tensor) -> None:
    for_each_matrix([a, out], _exponential)


def _exponential(a: Matrix, out: Matrix) -> None:
    column = lambda j, best: _larger(total(0, a.rows, lambda i: absolute(a[i, j]), a.real(0.0)), best)  # noqa: E731
    norm = folded(0, a.columns, column, a.real(0.0))
    # Each squaring doubles errors. For norms up to 2, this number of terms is exact to the last digit.
    terms, most = (16 if str(a.element) == "f32" else 26), 2.0
    halve = lambda size, count, factor: [size * 0.5, count + 1, factor * 0.5]  # noqa: E731
    is_large = lambda size, count, _: (size > most) & (count < 1100)  # noqa: E731
    _, squarings, factor = loops.repeat_while([norm, as_index(0), a.real(1.0)], is_large, halve)

    def use(other: Matrix) -> None:
        out.fill(lambda i, j: _one_on_diagonal(a, i, j))

        def term(k: Number) -> None:
            # I + A / k times the previous result.
            share = factor / k.to("i64").to(str(a.element))
            other.copy(out)
            out.fill(lambda i, j: _one_on_diagonal(a, i, j))
            _add_product(out, a, other, share)

        steps(1, terms + 1, term, backwards=True)

        def square(_: Number) -> None:
            other.copy(out)
            out.fill(lambda i, j: a.real(0.0))
            _add_product(out, other, other, a.real(1.0))

        loops.for_range(0, squarings, square)

    a.scratch(a.sizes, use)


def _larger(x: Number, best: Number) -> Number:
    return select(x > best, x, best)


def _one_on_diagonal(a: Matrix, i: Number, j: Number) -> Number:
    return select(i == j, a.real(1.0), a.real(0.0))


def _add_product(out: Matrix, left: Matrix, right: Matrix, factor: Number) -> None:
    def row(i: Number) -> None:
        loops.for_range(0, left.columns, lambda k: out.add_row(i, left[i, k] * factor, right, k))

    loops.for_range(0, out.rows, row)


@register_torch("aten::linalg_matrix_exp", "aten::matrix_exp")
def matrix_exp(node: TorchNode) -> Outputs:
    """Convert matrix_exp, computed in at least f32, because powers of narrow floats overflow."""
    wide = wide_float(node.dtype)
    a, n = node.tensor(0, wide), sizes.sizes_of(node.value(0))[-1]
    batch = Batch.of(node, a)
    return cast(batch.call(exponential_kernel, [batch.flat(a)], ((n, n), wide))[0], node.dtype)


# ---- least squares and pseudo-inverses by singular values ----


def _pseudo_invert(s: Tensor, least: Tensor) -> Tensor:
    """Return 1 / s, or 0 if s is not distinguishable from 0."""
    is_there = relax.greater(s, least)
    one = like(s, 1)
    return relax.where(is_there, relax.divide(one, relax.where(is_there, s, one)), like(s, 0))


@register_torch("aten::linalg_lstsq")
def least_squares(node: TorchNode) -> Outputs:
    """Return the shortest of the best solutions, residuals, ranks and singular values.

    torch's result types tell which of them are not empty.
    """
    a, b, dtype = node.tensor("self"), node.tensor("b"), node.value("self").dtype
    m, n = sizes.sizes_of(node.value("self"))[-2:]
    is_vector = node.rank("b") == node.rank("self") - 1
    b = relax.expand_dims(b, axis=[node.rank("b")]) if is_vector else b
    s, _, u, vh = relax.linalg.svd(a, full_matrices=False)
    ratio = node.float("rcond", None)
    epsilon = 2.0**-52 if dtype == "f64" else 2.0**-23
    factor = cast(sizes.as_tensor([sizes.larger(m, n)]), dtype) if ratio is None else const([ratio], dtype)
    if ratio is None:
        factor = relax.multiply(factor, const(epsilon, dtype))
    least = relax.multiply(relax.max(s, axis=[-1], keepdims=True), factor)
    driver = node.string("driver") or "gelsy"
    if driver == "gels":
        least = relax.zeros_like(least)
    inverse = relax.expand_dims(_pseudo_invert(s, least), axis=[-1])
    x = relax.matmul(transposed(vh), relax.multiply(inverse, relax.matmul(transposed(u), b)))
    results = [relax.squeeze(x, axis=[-1]) if is_vector else x]
    residuals, ranks, values = (node.results[place] for place in (1, 2, 3))
    left = relax.square(relax.subtract(relax.matmul(a, x), b))
    is_asked = residuals is not None and residuals.shape != (0,)
    results.append(relax.sum(left, axis=[-2]) if is_asked else relax.zeros((0,), dtype))
    is_ranked = ranks is not None and ranks.shape != (0,)
    rank = relax.sum(cast(relax.greater(s, least), "i64"), axis=[-1])
    results.append(rank if is_ranked else relax.zeros((0,), "i64"))
    results.append(s if values is not None and values.shape != (0,) else relax.zeros((0,), dtype))
    return results


@register_torch("aten::linalg_pinv.atol_rtol_tensor")
def pseudo_inverse(node: TorchNode) -> Outputs:
    """Convert pinv. Singular values up to `atol`, or `rtol` times the largest, count as 0."""
    a, dtype = node.tensor("self"), node.dtype
    if node.bool("hermitian"):  # Elements above the diagonal are not read.
        a = relax.add(relax.tril(a), transposed(relax.tril(a, k=-1)))
    s, _, u, vh = relax.linalg.svd(a, full_matrices=False)
    m, n = sizes.sizes_of(node.value("self"))[-2:]
    largest = relax.max(s, axis=[-1], keepdims=True)
    absolute_ = relax.expand_dims(node.tensor("atol", dtype), axis=[-1]) if node.has("atol") else like(s, 0)
    if node.has("rtol"):
        relative = relax.expand_dims(node.tensor("rtol", dtype), axis=[-1])
    else:
        epsilon = 2.0**-52 if dtype == "f64" else 2.0**-23
        relative = relax.multiply(cast(sizes.as_tensor([sizes.larger(m, n)]), dtype), const(epsilon, dtype))
        if node.has("atol"):
            relative = relax.where(relax.greater(absolute_, like(s, 0)), like(s, 0), relative)
    least = relax.maximum(absolute_, relax.multiply(relative, largest))
    inverse = relax.expand_dims(_pseudo_invert(s, least), axis=[-1])
    return relax.matmul(transposed(vh), relax.multiply(inverse, transposed(u)))


# ---- distances ----


@dataclass(frozen=True)
class Distances:
    """Kernel of the distances by a norm between each row of one matrix and each row of another."""

    p: float
    __name__ = "distances"

    def __call__(self, x: Tensor, y: Tensor, out: Tensor) -> None:
        for_each_matrix([x, y, out], self._each_two)

    def _each_two(self, x: Matrix, y: Matrix, out: Matrix) -> None:
        out.fill(lambda i, j: self.between(x, i, y, j))

    def between(self, x: Matrix, i: Number, y: Matrix, j: Number) -> Number:
        apart = lambda k: absolute(x[i, k] - y[j, k])  # noqa: E731
        zero = x.real(0.0)
        if self.p == 0:
            return total(0, x.columns, lambda k: select(apart(k) != 0.0, x.real(1.0), zero), zero)
        if self.p == 1:
            return total(0, x.columns, apart, zero)
        if self.p == float("inf"):
            return folded(0, x.columns, lambda k, best: _larger_or_nan(apart(k), best), zero)
        if self.p == 2:
            return intrinsic("sqrt", total(0, x.columns, lambda k: (x[i, k] - y[j, k]) * (x[i, k] - y[j, k]), zero))
        exponent = x.real(self.p)
        sum_ = total(0, x.columns, lambda k: intrinsic("pow", apart(k), exponent), zero)
        return intrinsic("pow", sum_, x.real(1 / self.p))


def _larger_or_nan(x: Number, best: Number) -> Number:
    return select((x > best) | (x != x), x, best)


@register_torch("aten::_cdist_forward", "aten::cdist")
def distances(node: TorchNode) -> Outputs:
    """Convert cdist: distances between rows of two batches of matrices, which are broadcast."""
    x, y = node.tensor("x1"), node.tensor("x2")
    own = node.sizes_of_result
    batch = Batch(node, own[:-2])
    return batch.call(Distances(node.float("p", 2.0)), [batch.spread(x), batch.spread(y)], (own[-2:], node.dtype))[0]


@dataclass(frozen=True)
class PairDistances:
    """Kernel of the distances between each two rows, with the first row's distances in front."""

    p: float
    __name__ = "pair_distances"

    def __call__(self, x: Tensor, out: Tensor) -> None:
        one, result = Matrix(x), Matrix(out)

        def row(i: Number, place: Number) -> Number:
            def other(j: Number, place: Number) -> Number:
                result[place] = Distances(self.p).between(one, i, one, j)
                return place + 1

            found: Number = loops.for_range(i + 1, one.rows, other, place)[0]
            return found

        loops.for_range(0, one.rows, row, as_index(0))


@register_torch("aten::_pdist_forward", "aten::pdist")
def pair_distances(node: TorchNode) -> Outputs:
    return node.call_tir(PairDistances(node.float("p", 2.0)), [node.tensor(0)], node.info)
