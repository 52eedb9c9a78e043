# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cholesky factorizations and triangular systems, and complex matrices as pairs of real numbers."""

from __future__ import annotations

from typing import Any

from relax_mlir.frontends.core import matrices
from relax_mlir.frontends.core.complex_numbers import in_pairs, of_pairs

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
    sizes,
    wide_float,
)


def has_complex(node: HloNode) -> bool:
    """Check whether the first operand has complex numbers."""
    return isinstance(node.held(0), ComplexValue)


def pairs_of(node: HloNode, place: int) -> Tensor:
    """Return an operand in f32 or f64 at least. A complex one has pairs in a last dimension."""
    held = node.held(place)
    if isinstance(held, ComplexValue):
        return in_pairs(held)
    tensor = node.tensor(place)
    return cast(tensor, wide_float(node.dtype)) if node.value(place).dtype != "i32" else tensor


def value_of(tensor: Tensor, is_complex: bool) -> Value | ComplexValue:
    """Return a result of an operator as a value of the graph."""
    return of_pairs(tensor) if is_complex else Value(ssa=tensor)


def identity(like_: Tensor, is_complex: bool) -> Tensor:
    """Return the identity matrix for each matrix of a tensor, of its shape."""
    own, dtype = sizes.sizes_of(Value(ssa=like_)), Value(ssa=like_).dtype
    rows, columns = own[-3:-1] if is_complex else own[-2:]
    return sizes.broadcast(matrices.identity(rows, columns, dtype, is_complex), own)


def adjoint(tensor: Tensor, is_complex: bool) -> Tensor:
    """Return the conjugate transpose of each matrix."""
    turned = matrices.transposed(tensor, is_complex)
    return relax.multiply(turned, const([1, -1], Value(ssa=tensor).dtype)) if is_complex else turned


def solve(a: Tensor, b: Tensor, is_left: bool, form: Any, is_complex: bool, **options: Any) -> Tensor:
    """Solve a triangular system. From the right, X A = B is Aᵀ Xᵀ = Bᵀ, and X Aᴴ = B is A Xᴴ = Bᴴ."""
    if is_left:
        return relax.linalg.solve_triangular(a, b, transpose=form, complex=is_complex, **options)
    turn = adjoint if form == "adjoint" else matrices.transposed
    turned_form: Any = "transpose" if form == "none" else "none"
    x = relax.linalg.solve_triangular(a, turn(b, is_complex), transpose=turned_form, complex=is_complex, **options)
    return turn(x, is_complex)


@register_stablehlo("stablehlo.cholesky")
def cholesky(node: HloNode) -> Outputs:
    """Return the Cholesky factor: NaN if a matrix is not positive definite, and 0 in the other triangle."""
    is_complex, is_upper = has_complex(node), not node.attr("lower", False)
    factor, info = relax.linalg.cholesky(pairs_of(node, 0), upper=is_upper, complex=is_complex)
    half = relax.triu if is_upper else relax.tril
    if is_complex:
        pair = of_pairs(factor)
        parts = [_nan_where_failed(half(part.ssa), info) for part in (pair.real, pair.imag)]
        return ComplexValue(*(Value(ssa=part) for part in parts))
    return cast(half(_nan_where_failed(factor, info)), node.dtype)


def _nan_where_failed(x: Tensor, info: Tensor) -> Tensor:
    failed = relax.not_equal(relax.expand_dims(info, axis=[-2, -1]), const(0, "i32"))
    return relax.where(failed, like(x, float("nan")), x)


#: Forms of A: unchanged, transposed, or transposed and conjugated.
_FORMS = {"NO_TRANSPOSE": "none", "TRANSPOSE": "transpose", "ADJOINT": "adjoint"}


@register_stablehlo("stablehlo.triangular_solve")
def triangular_solve(node: HloNode) -> Outputs:
    """Solve A X = B or X A = B, for A itself or transposed."""
    options = {"upper": not node.attr("lower"), "unit_diagonal": node.attr("unit_diagonal", False)}
    a, b, form = pairs_of(node, 0), pairs_of(node, 1), _FORMS[node.attr("transpose_a")]
    x = solve(a, b, node.attr("left_side"), form, has_complex(node), **options)
    return value_of(x, True) if has_complex(node) else cast(x, node.dtype)
