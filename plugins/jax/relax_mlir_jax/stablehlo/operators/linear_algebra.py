# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cholesky factorizations and triangular systems."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.frontends.core.linear_algebra.factorizations import cholesky_of
from relax_mlir.frontends.core.linear_algebra.linear_systems import SolveTriangular, triangular
from relax_mlir.frontends.core.linear_algebra.matrix_loops import transposed

from ..hlo_types import info_of
from ..prelude import (
    ComplexValue,
    HloNode,
    Outputs,
    Tensor,
    Value,
    cast,
    const,
    like,
    register_stablehlo,
    relax,
    wide_float,
)
from .complex_lapack import call_lapack, through_scipy


def _compute_wide(node: HloNode, function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Compute a function in f32 or f64. Narrower types are computed in f32."""
    wide = wide_float(node.dtype)
    return cast(function(*(cast(tensor, wide) for tensor in tensors)), node.dtype)


@register_stablehlo("stablehlo.cholesky")
def cholesky(node: HloNode) -> Outputs:
    """Return the Cholesky factor: NaN if a matrix is not positive definite, and 0 in the other triangle."""
    is_lower = node.attr("lower", False)
    if node.is_complex:
        info = info_of(node.result_types[0])
        count = info.with_shape((info.shape or ())[:-2]).with_dtype("i32")
        factor, failed = call_lapack(node, "potrf", [is_lower], [(info, True), (count, False)])
        half = relax.tril if is_lower else relax.triu
        parts = [_nan_where_failed(half(part.ssa), failed.ssa) for part in (factor.real, factor.imag)]
        return ComplexValue(*(Value(ssa=part) for part in parts))
    return _compute_wide(node, lambda a: _factor(node, a, is_lower), node.tensor(0))


def _factor(node: HloNode, a: Tensor, is_lower: bool) -> Tensor:
    factor, info = cholesky_of(node, a, not is_lower)
    return _nan_where_failed(relax.tril(factor) if is_lower else relax.triu(factor), info)


def _nan_where_failed(x: Tensor, info: Tensor) -> Tensor:
    failed = relax.not_equal(relax.expand_dims(info, axis=[-2, -1]), const(0, "i32"))
    return relax.where(failed, like(x, float("nan")), x)


@register_stablehlo("stablehlo.triangular_solve")
def triangular_solve(node: HloNode) -> Outputs:
    """Solve A X = B, or X A = B, which is Aᵀ Xᵀ = Bᵀ, for A itself or transposed."""
    is_upper, is_unit = not node.attr("lower"), node.attr("unit_diagonal", False)
    return solved(node, node.attr("left_side"), is_upper, is_unit, _TURNS[node.attr("transpose_a")])


#: Forms of A: unchanged, transposed, or transposed and conjugated.
_TURNS = {"NO_TRANSPOSE": 0, "TRANSPOSE": 1, "ADJOINT": 2}


def solved(node: HloNode, is_left: bool, is_upper: bool, is_unit: bool, turn: int) -> Outputs:
    """Solve a triangular system; `turn`: 0 for A itself, 1 for A transposed, 2 for its adjoint."""
    if node.is_complex:
        return through_scipy(node, "trsm", is_left, not is_upper, turn, is_unit)
    is_transposed = turn != 0

    def solve(a: Tensor, b: Tensor) -> Tensor:
        kernel = SolveTriangular(is_upper, is_unit, is_transposed if is_left else not is_transposed)
        return triangular(node, a, b, kernel) if is_left else transposed(triangular(node, a, transposed(b), kernel))

    return _compute_wide(node, solve, node.tensor(0), node.tensor(1))
