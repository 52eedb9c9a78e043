# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of Cholesky, LU and QR factorizations, with LAPACK's signs and pivots."""

from __future__ import annotations

from relax_mlir.frontends.core.matrices import build_q, first_of, multiply_by_q, require_success, unpack_lu

from ..prelude import Outputs, TorchNode, Value, register_torch, relax, sizes
from ..registry import register_real_and_complex
from .complex import each_number, matrix_of, numbers_of


@register_real_and_complex("aten::linalg_cholesky_ex", "aten::linalg_cholesky", "aten::cholesky")
def cholesky(node: TorchNode) -> Outputs:
    factor, info = relax.linalg.cholesky(matrix_of(node), upper=node.bool("upper"), complex=node.is_complex)
    if "cholesky_ex" in node.op:
        return [numbers_of(node, factor), info]
    require_success(info, "a matrix is not positive definite")
    return numbers_of(node, factor)


def _needs_pivots(node: TorchNode) -> None:
    if not node.bool("pivot", True):
        raise node.fail("pivot=False is not supported: leave it out", "pivot")


@register_real_and_complex("aten::linalg_lu_factor_ex", "aten::linalg_lu_factor", "aten::_lu_with_info")
def lu_factor(node: TorchNode) -> Outputs:
    _needs_pivots(node)
    factors, pivots, info = relax.linalg.lu_factor(matrix_of(node), complex=node.is_complex)
    if not node.op.startswith("aten::linalg_lu_factor."):
        return [numbers_of(node, factors), pivots, info]
    require_success(info, "a matrix is singular: a pivot of its LU factorization is 0")
    return [numbers_of(node, factors), pivots]


@register_torch("aten::linalg_lu")
def lu(node: TorchNode) -> Outputs:
    _needs_pivots(node)
    factors, pivots, _ = relax.linalg.lu_factor(node.tensor(0))
    return unpack_lu(node, factors, pivots)


@register_torch("aten::lu_unpack")
def lu_unpack(node: TorchNode) -> Outputs:
    """Convert lu_unpack. Results that are not requested are empty."""
    has_data, has_pivots = node.bool("unpack_data", True), node.bool("unpack_pivots", True)
    made = unpack_lu(node, node.tensor(0), node.tensor(1))
    return [
        each if is_asked else sizes.zeros([0], node.dtype)
        for each, is_asked in zip(made, (has_pivots, has_data, has_data), strict=True)
    ]


@register_real_and_complex("aten::geqrf")
def geqrf(node: TorchNode) -> Outputs:
    return [numbers_of(node, part) for part in relax.linalg.qr_factor(matrix_of(node), complex=node.is_complex)]


@register_real_and_complex("aten::linalg_qr")
def qr(node: TorchNode) -> Outputs:
    a, mode, is_complex = matrix_of(node), node.string("mode", "reduced"), node.is_complex
    own = sizes.sizes_of(Value(ssa=a))
    m, n = own[:-1][-2:] if is_complex else own[-2:]
    k = m if mode == "complete" else sizes.smaller(m, n)
    v, tau = relax.linalg.qr_factor(a, complex=is_complex)
    r = each_number(numbers_of(node, first_of(v, -2 - is_complex, k)), relax.triu)
    if mode == "r":
        return [each_number(numbers_of(node, tau), lambda _: relax.zeros((0,), node.dtype)), r]
    return [numbers_of(node, build_q(node, v, tau, k, is_complex)), r]


@register_real_and_complex("aten::linalg_householder_product", "aten::orgqr")
def householder_product(node: TorchNode) -> Outputs:
    v, is_complex = matrix_of(node), node.is_complex
    q = build_q(node, v, matrix_of(node, 1), sizes.sizes_of(Value(ssa=v))[-1 - is_complex], is_complex)
    return numbers_of(node, q)


@register_torch("aten::ormqr")
def ormqr(node: TorchNode) -> Outputs:
    v, tau, other = node.tensor(0), node.tensor(1), node.tensor(2)
    return multiply_by_q(node, v, tau, other, node.bool("left", True), node.bool("transpose"))
