# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cholesky factorizations and triangular systems."""

from __future__ import annotations

from collections.abc import Callable

from ...core.linear_algebra.factorizations import cholesky_of
from ...core.linear_algebra.linear_systems import SolveTriangular, triangular
from ...core.linear_algebra.matrix_loops import transposed
from ..prelude import Node, Outputs, Tensor, cast, const, like, register_stablehlo, relax, wide_float


def _in_wide(node: Node, function: Callable[..., Tensor], *given: Tensor) -> Tensor:
    """Of f32 or f64: what is narrower is computed in f32."""
    wide = wide_float(node.dtype)
    return cast(function(*(cast(each, wide) for each in given)), node.dtype)


def refuse_complex(node: Node) -> None:
    if node.is_complex:
        raise node.fail("it is not supported of complex numbers")


@register_stablehlo("stablehlo.cholesky")
def cholesky(node: Node) -> Outputs:
    """NaN where a matrix is not positive definite; what is on the other side of the diagonal is 0."""
    refuse_complex(node)
    is_lower = node.attr("lower", False)
    return _in_wide(node, lambda a: _factor(node, a, is_lower), node.tensor(0))


def _factor(node: Node, a: Tensor, is_lower: bool) -> Tensor:
    factor, info = cholesky_of(node, a, not is_lower)
    return _nan_where_failed(relax.tril(factor) if is_lower else relax.triu(factor), info)


def _nan_where_failed(x: Tensor, info: Tensor) -> Tensor:
    failed = relax.not_equal(relax.expand_dims(info, axis=[-2, -1]), const(0, "i32"))
    return relax.where(failed, like(x, float("nan")), x)


@register_stablehlo("stablehlo.triangular_solve")
def triangular_solve(node: Node) -> Outputs:
    """A X = B, or X A = B, which is Aᵀ Xᵀ = Bᵀ; of A itself or transposed."""
    is_upper, is_unit = not node.attr("lower"), node.attr("unit_diagonal", False)
    return solved(node, node.attr("left_side"), is_upper, is_unit, node.attr("transpose_a") != "NO_TRANSPOSE")


def solved(node: Node, is_left: bool, is_upper: bool, is_unit: bool, is_transposed: bool) -> Tensor:
    refuse_complex(node)

    def solve(a: Tensor, b: Tensor) -> Tensor:
        kernel = SolveTriangular(is_upper, is_unit, is_transposed if is_left else not is_transposed)
        return triangular(node, a, b, kernel) if is_left else transposed(triangular(node, a, transposed(b), kernel))

    return _in_wide(node, solve, node.tensor(0), node.tensor(1))
