# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of eigenvalues of symmetric matrices, and of singular values."""

from __future__ import annotations

from ..prelude import Outputs, TorchNode, register_torch, relax
from .assertions import stop_where


@register_torch("aten::_linalg_eigh", "aten::linalg_eigh", "aten::linalg_eigvalsh")
def eigh(node: TorchNode) -> Outputs:
    has_values_alone = "eigvalsh" in node.op
    is_upper = node.string("UPLO", "L").upper() == "U"
    values, _, *vectors = relax.linalg.eigh(node.tensor(0), upper=is_upper, compute_vectors=not has_values_alone)
    return values if has_values_alone else [values, *vectors]


@register_torch("aten::_linalg_svd", "aten::linalg_svd", "aten::linalg_svdvals")
def svd(node: TorchNode) -> Outputs:
    text = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
    stop_where(relax.logical_not(relax.isfinite(node.tensor(0))), text)
    has_values_alone = "svdvals" in node.op
    with_vectors = not has_values_alone and node.bool("compute_uv", True)
    s, _, *vectors = relax.linalg.svd(node.tensor(0), node.bool("full_matrices"), with_vectors)
    u, vh = vectors or [relax.zeros((0,), node.value(0).dtype)] * 2
    return s if has_values_alone else [u, s, vh]
