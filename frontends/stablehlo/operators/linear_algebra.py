# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factorizations and triangular systems, and the LAPACK functions that jax calls for them on CPUs."""

from __future__ import annotations

from collections.abc import Callable

from ...core.linear_algebra.eigenvalues import Eigen, svd_of
from ...core.linear_algebra.factorizations import cholesky_of, lu_of, orthogonal, qr_of
from ...core.linear_algebra.linear_systems import SolveTriangular, triangular
from ...core.linear_algebra.matrix_loops import Batch, transposed
from ..prelude import Node, Outputs, Tensor, cast, const, like, register_stablehlo, relax, sizes, wide_float


def _in_wide(node: Node, function: Callable[..., Tensor], *given: Tensor) -> Tensor:
    """Of f32 or f64: what is narrower is computed in f32."""
    wide = wide_float(node.dtype)
    return cast(function(*(cast(each, wide) for each in given)), node.dtype)


def _refuse_complex(node: Node) -> None:
    if node.is_complex:
        raise node.fail("it is not supported of complex numbers")


@register_stablehlo("stablehlo.cholesky")
def cholesky(node: Node) -> Outputs:
    """NaN where a matrix is not positive definite; what is on the other side of the diagonal is 0."""
    _refuse_complex(node)
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
    return _solved(node, node.attr("left_side"), is_upper, is_unit, node.attr("transpose_a") != "NO_TRANSPOSE")


def _solved(node: Node, is_left: bool, is_upper: bool, is_unit: bool, is_transposed: bool) -> Tensor:
    _refuse_complex(node)

    def solve(a: Tensor, b: Tensor) -> Tensor:
        kernel = SolveTriangular(is_upper, is_unit, is_transposed if is_left else not is_transposed)
        return triangular(node, a, b, kernel) if is_left else transposed(triangular(node, a, transposed(b), kernel))

    return _in_wide(node, solve, node.tensor(0), node.tensor(1))


# ---- LAPACK, as jax calls it: names begin with the element type's letter ----


def _lapack(name: str) -> list[str]:
    return [f"custom_call @lapack_{letter}{name}_ffi" for letter in "sdcz"]


def _option(node: Node, name: str) -> str:
    """A letter among the options of a call: numbers of characters."""
    given = node.attr("mhlo.backend_config", {}).get(name)
    return chr(given) if isinstance(given, int) else str(given or "")


@register_stablehlo(*_lapack("potrf"))
def potrf(node: Node) -> Outputs:
    """The factor, and what failed; the other side of the diagonal stays."""
    _refuse_complex(node)
    is_lower = _option(node, "uplo") == "L"
    a = node.tensor(0)
    factor, info = cholesky_of(node, a, not is_lower)
    rest = relax.triu(a, k=1) if is_lower else relax.tril(a, k=-1)
    kept = relax.add(relax.tril(factor) if is_lower else relax.triu(factor), rest)
    return [kept, info]


@register_stablehlo(*_lapack("trsm"))
def trsm(node: Node) -> Outputs:
    is_upper, is_unit = _option(node, "uplo") == "U", _option(node, "diag") == "U"
    return _solved(node, _option(node, "side") == "L", is_upper, is_unit, _option(node, "trans_x") != "N")


@register_stablehlo(*_lapack("getrf"))
def getrf(node: Node) -> Outputs:
    _refuse_complex(node)
    return list(lu_of(node, node.tensor(0)))


@register_stablehlo(*_lapack("geqrf"))
def geqrf(node: Node) -> Outputs:
    _refuse_complex(node)
    return list(qr_of(node, node.tensor(0), node.dtype))


@register_stablehlo(*_lapack("orgqr"))
def orgqr(node: Node) -> Outputs:
    """The columns of Q that reflections say."""
    _refuse_complex(node)
    v = node.tensor(0)
    return orthogonal(node, v, node.tensor(1), sizes.sizes_of(node.value(0))[-1])


@register_stablehlo(*_lapack("syevd"))
def syevd(node: Node) -> Outputs:
    """Eigenvectors as columns, eigenvalues, and what failed."""
    _refuse_complex(node)
    a = node.tensor(0)
    batch, n = Batch.of(node, a), sizes.sizes_of(node.value(0))[-1]
    kernel = Eigen(_option(node, "uplo") == "U")
    values, rows = batch.call(kernel, [batch.flat(a)], ((n,), node.dtype), ((n, n), node.dtype))
    return [transposed(rows), values, sizes.zeros(batch.lead, "i32")]


@register_stablehlo(*_lapack("gesdd"))
def gesdd(node: Node) -> Outputs:
    """The matrix that LAPACK overwrites, singular values, both sides' vectors, and what failed."""
    _refuse_complex(node)
    mode, a = _option(node, "mode"), node.tensor(0)
    u, s, vh = svd_of(node, a, is_full=mode == "A", with_vectors=mode != "N")
    info = sizes.zeros(Batch.of(node, a).lead, "i32")
    if mode == "N":
        u, vh = (sizes.zeros(node.static_shape(index), node.dtype) for index in (2, 3))
    return [a, s, u, vh, info]
