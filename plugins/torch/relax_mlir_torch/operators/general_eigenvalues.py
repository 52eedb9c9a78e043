# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of eigenvalues and eigenvectors of matrices that need not be symmetric."""

from __future__ import annotations

from relax_mlir.frontends.core.linear_algebra.general_eigenvalues import eig_of
from relax_mlir.frontends.core.values import ComplexValue

from ..prelude import Outputs, TorchNode, register_torch
from ..registry import register_complex


@register_torch("aten::linalg_eigvals")
@register_complex("aten::linalg_eig", "aten::linalg_eigvals", "aten::_linalg_eigvals")
def eig(node: TorchNode) -> Outputs:
    if isinstance(node.held(0), ComplexValue):
        raise node.fail("eigenvalues of complex matrices are not computed: use linalg.eigh if they are Hermitian")
    has_values_alone = node.op.endswith("eigvals.default")
    eigen = eig_of(node, node.tensor(0), with_right=not has_values_alone and node.is_wanted[1])
    return eigen.values if has_values_alone else [eigen.values, eigen.right]
