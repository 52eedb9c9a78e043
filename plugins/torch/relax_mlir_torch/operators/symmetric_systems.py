# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of LDL factorizations of symmetric matrices that need not be positive, with LAPACK's pivots."""

from __future__ import annotations

from relax_mlir.frontends.core.matrices import System, require_success

from ..prelude import Outputs, TorchNode, register_torch, relax


@register_torch("aten::linalg_ldl_factor_ex", "aten::linalg_ldl_factor")
def ldl_factor(node: TorchNode) -> Outputs:
    """Convert ldl_factor, which reads the lower triangle."""
    factors, pivots, info = relax.linalg.ldl_factor(node.tensor(0))
    if "factor_ex" in node.op:
        return [factors, pivots, info]
    require_success(info, "a matrix is singular: a block of its LDL factorization is 0")
    return [factors, pivots]


@register_torch("aten::linalg_ldl_solve")
def ldl_solve(node: TorchNode) -> Outputs:
    system = System(node, node.tensor("LD"), node.tensor("B"))
    pivots = system.batch.spread(node.tensor("pivots"), 1)
    return system.shape(relax.linalg.ldl_solve(system.a, pivots, system.b))
