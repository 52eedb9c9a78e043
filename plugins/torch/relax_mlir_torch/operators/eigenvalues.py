# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of eigenvalues of symmetric matrices, and of singular values."""

from __future__ import annotations

from ..prelude import Outputs, TorchNode, Value, relax
from ..registry import register_real_and_complex
from .assertions import stop_where
from .complex import matrix_of, numbers_of


@register_real_and_complex("aten::_linalg_eigh", "aten::linalg_eigh", "aten::linalg_eigvalsh")
def eigh(node: TorchNode) -> Outputs:
    has_values_alone = "eigvalsh" in node.op
    is_upper = node.string("UPLO", "L").upper() == "U"
    values, _, *vectors = relax.linalg.eigh(
        matrix_of(node), upper=is_upper, compute_vectors=not has_values_alone, complex=node.is_complex
    )
    return values if has_values_alone else [values, *(numbers_of(node, matrix) for matrix in vectors)]


@register_real_and_complex("aten::_linalg_svd", "aten::linalg_svd", "aten::linalg_svdvals")
def svd(node: TorchNode) -> Outputs:
    text = "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
    a = matrix_of(node)
    stop_where(relax.logical_not(relax.isfinite(a)), text)
    has_values_alone = "svdvals" in node.op
    with_vectors = not has_values_alone and node.bool("compute_uv", True)
    s, _, *vectors = relax.linalg.svd(a, node.bool("full_matrices"), with_vectors, node.is_complex)
    u, vh = vectors or [relax.zeros((0, 2)[: 1 + node.is_complex], Value(ssa=a).dtype)] * 2
    return s if has_values_alone else [numbers_of(node, u), s, numbers_of(node, vh)]
