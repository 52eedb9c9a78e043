# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of eigenvalues of symmetric matrices, and of singular values."""

from __future__ import annotations

from relax_mlir.frontends.core.linear_algebra.eigenvalues import Eigen, svd_of
from relax_mlir.frontends.core.linear_algebra.matrix_loops import Batch, transposed

from ..prelude import Outputs, TorchNode, register_torch, relax, sizes
from .assertions import stop_where


@register_torch("aten::_linalg_eigh", "aten::linalg_eigh", "aten::linalg_eigvalsh")
def eigh(node: TorchNode) -> Outputs:
    a, n, dtype = node.tensor(0), sizes.sizes_of(node.value(0))[-1], node.value(0).dtype
    batch = Batch.of(node, a)
    kernel = Eigen(node.string("UPLO", "L").upper() == "U")
    values, rows = batch.call(kernel, [batch.flat(a)], ((n,), dtype), ((n, n), dtype))
    return values if "eigvalsh" in node.op else [values, transposed(rows)]


@register_torch("aten::_linalg_svd", "aten::linalg_svd", "aten::linalg_svdvals")
def svd(node: TorchNode) -> Outputs:
    text = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
    stop_where(relax.logical_not(relax.isfinite(node.tensor(0))), text)
    u, s, vh = svd_of(node, node.tensor(0), node.bool("full_matrices"), node.bool("compute_uv", True))
    return s if "svdvals" in node.op else [u, s, vh]
