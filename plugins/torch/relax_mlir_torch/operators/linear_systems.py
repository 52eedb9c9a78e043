# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of systems of linear equations, inverses and determinants, by factorizations."""

from __future__ import annotations

from typing import Any

from relax_mlir.frontends.core.matrices import System, identity, require_success, solve_triangular, transposed

from ..prelude import Outputs, Tensor, TorchNode, Value, const, like, register_torch, relax, sizes
from ..registry import register_real_and_complex
from .complex import matrix_of, numbers_of


@register_real_and_complex("aten::linalg_solve_triangular")
def triangular_system(node: TorchNode) -> Outputs:
    """Convert solve_triangular. X A = B is solved as Aᵀ Xᵀ = Bᵀ."""
    a, b, is_complex = matrix_of(node, "self"), matrix_of(node, "B"), node.is_complex
    options: dict[str, Any] = {"upper": node.bool("upper"), "unit_diagonal": node.bool("unitriangular")}
    options["is_complex"] = is_complex
    if node.bool("left", True):
        return numbers_of(node, solve_triangular(node, a, b, **options))
    x = solve_triangular(node, a, transposed(b, is_complex), form="transpose", **options)
    return numbers_of(node, transposed(x, is_complex))


@register_torch("aten::triangular_solve")
def old_triangular_solve(node: TorchNode) -> Outputs:
    """Return the solution, and the coefficients in the shape of the batch."""
    b, a = node.tensor("self"), node.tensor("A")
    is_upper, is_unit, is_transposed = node.bool("upper", True), node.bool("unitriangular"), node.bool("transpose")
    form = "transpose" if is_transposed else "none"
    x = solve_triangular(node, a, b, upper=is_upper, unit_diagonal=is_unit, form=form)
    coefficients = sizes.broadcast(a, (node.results[1] or node.info).shape or ())
    return [x, coefficients]


@register_real_and_complex("aten::cholesky_solve")
def cholesky_solve(node: TorchNode) -> Outputs:
    return numbers_of(node, _solve_by_cholesky(node, matrix_of(node, "input2"), matrix_of(node, "self")))


@register_torch("aten::cholesky_inverse")
def cholesky_inverse(node: TorchNode) -> Outputs:
    n = sizes.sizes_of(node.value(0))[-1]
    return _solve_by_cholesky(node, node.tensor(0), identity(n, n, node.dtype))


def _solve_by_cholesky(node: TorchNode, factor: Tensor, b: Tensor) -> Tensor:
    """Solve L Lᴴ X = B or Uᴴ U X = B."""
    is_upper, x = node.bool("upper"), b
    for form in ("adjoint", "none") if is_upper else ("none", "adjoint"):
        x = solve_triangular(node, factor, x, upper=is_upper, form=form, is_complex=node.is_complex)
    return x


@register_real_and_complex("aten::linalg_lu_solve", "aten::lu_solve")
def lu_solve(node: TorchNode) -> Outputs:
    """Convert lu_solve with the pivots of each matrix. X A = B is Aᵀ Xᵀ = Bᵀ, and X Aᴴ = B is A̅ Xᵀ = Bᵀ."""
    if node.op.startswith("aten::lu_solve"):
        x = _solve_by_lu(node, matrix_of(node, "LU_data"), node.tensor("LU_pivots"), matrix_of(node, "self"))
        return numbers_of(node, x)
    lu, pivots, b = matrix_of(node, "LU"), node.tensor("pivots"), matrix_of(node, "B")
    is_left, is_adjoint, is_complex = node.bool("left", True), node.bool("adjoint"), node.is_complex
    if is_left:
        return numbers_of(node, _solve_by_lu(node, lu, pivots, b, form="adjoint" if is_adjoint else "none"))
    if is_adjoint and is_complex:
        lu = relax.multiply(lu, const([1, -1], Value(ssa=lu).dtype))
    x = _solve_by_lu(node, lu, pivots, transposed(b, is_complex), form="none" if is_adjoint else "transpose")
    return numbers_of(node, transposed(x, is_complex))


def _solve_by_lu(
    node: TorchNode, lu: Tensor, pivots: Tensor, b: Tensor, form: str = "none", is_vector: bool = False
) -> Tensor:
    return System(node, lu, b, is_vector, node.is_complex).solve_lu(pivots, form=form)


@register_real_and_complex("aten::linalg_solve", "aten::_linalg_solve_ex", "aten::linalg_solve_ex")
def solve(node: TorchNode) -> Outputs:
    """Convert solve.

    The right side is vectors if it has one dimension less than the matrices, or their batch's shape.
    """
    a, b, is_left, is_complex = matrix_of(node, "A"), matrix_of(node, "B"), node.bool("left", True), node.is_complex
    is_vector = _is_vector(a, b, is_complex)
    factors, pivots, info = relax.linalg.lu_factor(a if is_left else transposed(a, is_complex), complex=is_complex)
    if is_left or is_vector:
        x = _solve_by_lu(node, factors, pivots, b, is_vector=is_vector)
    else:
        x = transposed(_solve_by_lu(node, factors, pivots, transposed(b, is_complex)), is_complex)
    result = numbers_of(node, x)
    if node.op.startswith("aten::_linalg_solve_ex"):
        return [result, numbers_of(node, factors), pivots, info]
    if node.op.startswith("aten::linalg_solve_ex"):
        return [result, info]
    require_success(info, "a matrix is singular: its system of equations has no unique solution")
    return result


def _is_vector(matrix: Tensor, right: Tensor, is_complex: bool) -> bool:
    """Decide as torch does whether the right side is vectors."""
    a, b = (shape[: len(shape) - is_complex] for shape in (Value(ssa=each).shape or () for each in (matrix, right)))
    return len(b) == 1 or (len(a) - 1 == len(b) and tuple(b) == tuple(a[:-1]))


@register_real_and_complex("aten::linalg_inv", "aten::linalg_inv_ex", "aten::inverse")
def inverse(node: TorchNode) -> Outputs:
    a, is_complex = matrix_of(node), node.is_complex
    n = sizes.sizes_of(Value(ssa=a))[-1 - is_complex]
    factors, pivots, info = relax.linalg.lu_factor(a, complex=is_complex)
    result = numbers_of(node, _solve_by_lu(node, factors, pivots, identity(n, n, Value(ssa=a).dtype, is_complex)))
    if node.op.startswith("aten::linalg_inv_ex"):
        return [result, info]
    require_success(info, "a matrix is singular: it has no inverse")
    return result


@register_torch("aten::_linalg_det", "aten::linalg_det", "aten::det")
def determinant(node: TorchNode) -> Outputs:
    """Return the determinant: the product of the pivots, with the sign of the swaps."""
    factors, pivots, _ = relax.linalg.lu_factor(node.tensor(0))
    result = relax.multiply(relax.prod(_diagonal(factors), axis=[-1]), _sign_of(pivots, node.value(0).dtype))
    return [result, factors, pivots] if node.op.startswith("aten::_linalg") else result


@register_torch("aten::_linalg_slogdet", "aten::linalg_slogdet", "aten::slogdet")
def signed_log_determinant(node: TorchNode) -> Outputs:
    factors, pivots, _ = relax.linalg.lu_factor(node.tensor(0))
    sign, log = _sign_and_log(factors, pivots)
    return [sign, log, factors, pivots] if node.op.startswith("aten::_linalg") else [sign, log]


@register_torch("aten::logdet")
def log_determinant(node: TorchNode) -> Outputs:
    """Return the logarithm of the determinant, or NaN for negative determinants."""
    sign, log = _sign_and_log(*list(relax.linalg.lu_factor(node.tensor(0)))[:2])
    return relax.where(relax.less(sign, like(sign, 0)), like(log, float("nan")), log)


def _sign_and_log(factors: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor]:
    diagonal = _diagonal(factors)
    signs = relax.prod(relax.sign(diagonal), axis=[-1])
    sign = relax.multiply(signs, _sign_of(pivots, Value(ssa=factors).dtype))
    return sign, relax.sum(relax.log(relax.abs(diagonal)), axis=[-1])


def _diagonal(matrix: Tensor) -> Tensor:
    """Return the diagonals of square matrices."""
    n = sizes.sizes_of(Value(ssa=matrix))[-1]
    return relax.sum(relax.where(_is_diagonal(n), matrix, like(matrix, 0)), axis=[-1])


def _is_diagonal(n: sizes.Size) -> Tensor:
    return relax.equal(sizes.positions([n, n], 0), sizes.positions([n, n], 1))


def _sign_of(pivots: Tensor, dtype: str) -> Tensor:
    """Return -1 for an odd number of row swaps, else 1."""
    own = relax.add(sizes.count_up(sizes.sizes_of(Value(ssa=pivots))[-1], "i32"), const(1, "i32"))
    is_swap = relax.not_equal(pivots, own)
    one = const(1, dtype)
    return relax.prod(relax.where(is_swap, const(-1, dtype), one), axis=[-1])
