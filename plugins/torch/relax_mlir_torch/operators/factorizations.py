# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of Cholesky, LU and QR factorizations, with LAPACK's signs and pivots."""

from __future__ import annotations

from relax_mlir.frontends.core.matrices import build_q, first_of, multiply_by_q, require_success, unpack_lu

from ..prelude import Outputs, TorchNode, register_torch, relax, sizes


@register_torch("aten::linalg_cholesky_ex", "aten::linalg_cholesky", "aten::cholesky")
def cholesky(node: TorchNode) -> Outputs:
    factor, info = relax.linalg.cholesky(node.tensor(0), upper=node.bool("upper"))
    if "cholesky_ex" in node.op:
        return [factor, info]
    require_success(info, "a matrix is not positive definite")
    return factor


def _needs_pivots(node: TorchNode) -> None:
    if not node.bool("pivot", True):
        raise node.fail("pivot=False is not supported: leave it out", "pivot")


@register_torch("aten::linalg_lu_factor_ex", "aten::linalg_lu_factor", "aten::_lu_with_info")
def lu_factor(node: TorchNode) -> Outputs:
    _needs_pivots(node)
    factors, pivots, info = relax.linalg.lu_factor(node.tensor(0))
    if not node.op.startswith("aten::linalg_lu_factor."):
        return [factors, pivots, info]
    require_success(info, "a matrix is singular: a pivot of its LU factorization is 0")
    return [factors, pivots]


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


@register_torch("aten::geqrf")
def geqrf(node: TorchNode) -> Outputs:
    return list(relax.linalg.qr_factor(node.tensor(0)))


@register_torch("aten::linalg_qr")
def qr(node: TorchNode) -> Outputs:
    a, mode, dtype = node.tensor(0), node.string("mode", "reduced"), node.value(0).dtype
    m, n = sizes.sizes_of(node.value(0))[-2:]
    k = m if mode == "complete" else sizes.smaller(m, n)
    v, tau = relax.linalg.qr_factor(a)
    r = relax.triu(first_of(v, -2, k))
    return [relax.zeros((0,), dtype), r] if mode == "r" else [build_q(node, v, tau, k), r]


@register_torch("aten::linalg_householder_product", "aten::orgqr")
def householder_product(node: TorchNode) -> Outputs:
    return build_q(node, node.tensor(0), node.tensor(1), sizes.sizes_of(node.value(0))[-1])


@register_torch("aten::ormqr")
def ormqr(node: TorchNode) -> Outputs:
    v, tau, other = node.tensor(0), node.tensor(1), node.tensor(2)
    return multiply_by_q(node, v, tau, other, node.bool("left", True), node.bool("transpose"))
