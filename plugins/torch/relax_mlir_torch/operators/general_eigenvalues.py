# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of eigenvalues and eigenvectors of matrices that need not be symmetric."""

from __future__ import annotations

from relax_mlir.frontends.core.complex_numbers import of_pairs
from relax_mlir.frontends.core.values import ComplexValue

from ..prelude import Outputs, TorchNode, register_torch, relax
from ..registry import register_complex
from .complex import matrix_of


@register_torch("aten::linalg_eigvals")
@register_complex("aten::linalg_eig", "aten::linalg_eigvals", "aten::_linalg_eigvals")
def eig(node: TorchNode) -> Outputs:
    is_complex = isinstance(node.held(0), ComplexValue)
    has_values_alone = node.op.endswith("eigvals.default")
    with_vectors = not has_values_alone and node.is_wanted[1]
    values, _, *vectors = relax.linalg.eig(matrix_of(node), right=with_vectors, complex=is_complex)
    results = [of_pairs(values), *map(of_pairs, vectors)]
    return results[0] if has_values_alone else [results[0], results[-1] if with_vectors else None]
